"""The HTTP API under /api/v1: it can do the same as the command line, and answers the documents that commands print."""
