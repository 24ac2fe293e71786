"""A handler that is a command: one process for each delivery, in any language."""
