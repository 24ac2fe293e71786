"""`supervisor top`."""
