"""Changes that pages can ask for: a file for each noun, and the endpoint that carries one out and writes it down."""
