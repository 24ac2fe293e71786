"""`supervisor lanes`."""
