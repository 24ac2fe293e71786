"""`supervisor batches`."""
