"""The acts of an operator, each defined once: commands, forms, routes and tools are made of them."""
