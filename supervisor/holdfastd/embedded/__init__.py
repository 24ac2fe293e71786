"""The embedded store: a bundled Valkey that the parent runs as its child if no Redis URL is set."""
