"""The steward: the one process of a supervisor that looks after the store while workers come and go."""
