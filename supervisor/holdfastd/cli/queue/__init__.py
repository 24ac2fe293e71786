"""`supervisor queue`."""
