"""Values of the store in the form in which pages show them."""
