"""Commands on the store: its tables, and recovery without a steward."""
