"""The dashboard and the HTTP API of a queue: one process that reads the store and asks it for changes."""
