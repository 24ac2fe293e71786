"""The handlers of the pools in the benches."""

from __future__ import annotations

from typing import Any

import anyio

from bench.records import record
from bench.work import read
from holdfast import Task


async def noop(messages: list[dict[str, Any]]) -> str:
    """Records that it ran; its result is kept."""
    record(*read(messages[-1]["parts"][0]["text"]))
    return "done"


async def killed_once(messages: list[dict[str, Any]], task: Task) -> str:
    """Records that it started, and waits to be killed; started again, it is done."""
    record(*read(messages[-1]["parts"][0]["text"]))
    if task.delivery == 1:
        await anyio.sleep(60)
    return "done"
