"""The demonstration: a real supervisor whose processes are killed while it works; then the books."""
