"""Handlers of the tests of telemetry."""

from __future__ import annotations

import os
import signal
from typing import Any

import anyio
import structlog
from opentelemetry import trace

from holdfast import Task


async def logs() -> str:
    structlog.get_logger("mine").warning("in the handler")
    return "done"


async def dies_once(task: Task) -> str:
    """Kills its worker at the first delivery."""
    if task.delivery == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


async def waits(messages: list[dict[str, Any]], task: Task) -> str:
    """A span of its own in each run. `die` kills its worker at the first delivery; else it waits for the file."""
    text = str(messages[-1]["parts"][0]["text"])
    with trace.get_tracer("app").start_as_current_span(f"app {text}"):
        await anyio.Path(f"{text}.runs").touch()
    if text == "die" and task.delivery == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while text != "die" and not await anyio.Path(text).exists():  # noqa: ASYNC110 - another process makes the file
        await anyio.sleep(0.01)
    return "done"
