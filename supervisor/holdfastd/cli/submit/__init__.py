"""`supervisor submit`."""
