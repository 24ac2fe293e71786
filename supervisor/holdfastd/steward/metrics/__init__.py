"""Metrics for Prometheus: a small HTTP server in the steward. Nothing here is imported if no address is set."""
