"""Metrics for Prometheus: a small HTTP server in the steward. Nothing here is imported where no address is set."""
