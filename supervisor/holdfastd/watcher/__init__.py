"""The watcher: a child that detects changes of code or settings, and asks its parent for a reload. For development."""
