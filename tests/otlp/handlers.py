"""Handlers of the tests of telemetry."""

from __future__ import annotations

import structlog


async def logs() -> str:
    structlog.get_logger("mine").warning("in the handler")
    return "done"
