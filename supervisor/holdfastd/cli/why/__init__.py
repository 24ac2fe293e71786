"""`supervisor why`: history and outlook of one task, in words."""
