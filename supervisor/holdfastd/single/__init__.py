"""The service in one process, for a queue in memory: a worker and a steward on one event loop, nothing forked."""
