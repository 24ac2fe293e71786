"""The steward: the process of a supervisor that maintains the store while workers come and go."""
