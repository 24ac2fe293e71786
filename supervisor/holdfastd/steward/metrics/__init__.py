"""Metrics of the steward: an HTTP server for Prometheus, and a push over OTLP. The steward imports this package only if
an address for metrics is set."""
