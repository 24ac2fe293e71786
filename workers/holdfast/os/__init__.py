"""The operating system: processes, file locks, and the points at which a test has a process killed."""
