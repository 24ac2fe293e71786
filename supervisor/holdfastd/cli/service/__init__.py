"""Commands on one supervisor: starting, stopping, checking and showing it."""
