"""The demonstration: it kills processes of a real supervisor while they work, and reports the result."""
