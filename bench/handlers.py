"""The handlers of the pools in the benches."""

from __future__ import annotations

from resource import RUSAGE_SELF, getrusage
from time import thread_time
from typing import Any

import anyio

from bench.records import record
from bench.work import read
from holdfast import Task

USAGE = "usage"
COMPUTED = 0.001  # seconds


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


async def computes(messages: list[dict[str, Any]]) -> str:
    """Takes 1 ms of processor time. For the text `usage`: the microseconds that this process has taken so far."""
    if messages[-1]["parts"][0]["text"] == USAGE:
        return str(spent())
    ends = thread_time() + COMPUTED
    while thread_time() < ends:
        pass
    return "done"


def spent() -> float:
    """Microseconds of the processor that this process has had, in all its threads."""
    used = getrusage(RUSAGE_SELF)
    return 1e6 * (used.ru_utime + used.ru_stime)
