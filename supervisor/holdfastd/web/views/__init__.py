"""Values of the store as the pages show them. Pure."""
