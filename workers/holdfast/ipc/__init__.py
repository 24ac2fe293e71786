"""Messages between a parent process and its children."""
