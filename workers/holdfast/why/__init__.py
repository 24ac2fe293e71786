"""Explains one task: its history, its present state, what comes next."""
