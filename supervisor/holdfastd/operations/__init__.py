"""The acts of an operator, each defined once. Commands, forms, routes and tools are made from these definitions."""
