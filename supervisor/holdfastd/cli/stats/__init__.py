"""`supervisor stats`."""
