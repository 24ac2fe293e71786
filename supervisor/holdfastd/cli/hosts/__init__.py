"""Commands on hosts and their workers."""
