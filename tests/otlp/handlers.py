"""Handlers of the tests of telemetry."""

from __future__ import annotations

import os
import signal

import structlog

from holdfast import Task


async def logs() -> str:
    structlog.get_logger("mine").warning("in the handler")
    return "done"


async def dies_once(task: Task) -> str:
    """Kills its worker at the first delivery."""
    if task.delivery == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"
