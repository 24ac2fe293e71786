"""`supervisor schedules`."""
