"""The duties of a steward: each is a small loop in a file of its own."""
