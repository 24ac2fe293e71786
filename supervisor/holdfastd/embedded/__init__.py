"""The embedded store: a bundled Valkey that the parent runs as its child where no Redis URL is given."""
