"""`supervisor events`."""
