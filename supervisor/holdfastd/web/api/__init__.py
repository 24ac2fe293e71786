"""The HTTP API under /api/v1: the verbs of the command line, with the documents that it prints."""
