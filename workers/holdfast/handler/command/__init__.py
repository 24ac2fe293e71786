"""A handler that is a command: one process for each delivery, whatever it is written in."""
