"""`supervisor init`."""
