"""Handlers of the tests of telemetry."""

from __future__ import annotations

import time

import structlog

COMPUTED = 0.001  # seconds


async def logs(text: str) -> str:
    structlog.get_logger("mine").warning("in the handler", of=text)
    return text


async def computes(text: str) -> str:
    """Computes for 1 ms of processor time."""
    ends = time.thread_time() + COMPUTED
    while time.thread_time() < ends:
        pass
    return text
