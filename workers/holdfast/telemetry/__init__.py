"""Telemetry over OTLP, off unless an endpoint is set; opened after the fork, for it starts threads."""
