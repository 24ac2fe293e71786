"""Telemetry over OTLP, off unless an endpoint is set; opened after the fork, for it starts threads."""

from __future__ import annotations

from holdfast.telemetry.port import (
    GRPC,
    HTTP,
    Span,
    Telemetry,
    Tracing,
    open_in_steward,
    open_in_worker,
    open_inside,
    open_telemetry,
)

__all__ = [
    "Telemetry",
    "Span",
    "Tracing",
    "HTTP",
    "GRPC",
    "open_in_worker",
    "open_in_steward",
    "open_inside",
    "open_telemetry",
]
