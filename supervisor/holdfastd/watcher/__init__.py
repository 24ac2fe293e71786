"""The watcher: a child that sees when code or settings change, and asks its parent for a reload. For development."""
