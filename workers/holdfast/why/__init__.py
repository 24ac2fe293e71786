"""Explains one task: its history, its present state and its next event."""
