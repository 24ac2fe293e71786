"""The acts of an operator, through each of their faces."""
