"""The user's code: found, inspected, called, and what it answers understood."""
