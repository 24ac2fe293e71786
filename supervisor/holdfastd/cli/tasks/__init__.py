"""`supervisor tasks` and `supervisor dead`."""
