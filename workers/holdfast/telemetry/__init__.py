"""Telemetry over OTLP. It is off unless an endpoint is set. A process opens it after the fork, because it starts
threads."""
