"""The demonstration: a real supervisor whose processes are killed while it works, and a report of the result."""
