"""Commands on the supervisor of this host: start, stop, check, status, reload and scale."""
