"""The changes that pages can ask for, and the endpoint that carries out a change and writes it to Activity."""
