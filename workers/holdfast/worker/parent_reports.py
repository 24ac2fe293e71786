"""Reports this worker to its parent every second. Asks the parent for a successor when the worker has run many tasks or
uses much memory.

The worker counts its tasks and measures its memory here; `core/recycle.py` has the rules.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import anyio
import psutil
from msgspec.structs import replace

from holdfast.core import recycle
from holdfast.core.recycle import WorkerUse
from holdfast.ipc.channel import Beat, Link, until_next
from holdfast.worker.context import WorkerContext
from holdfast.worker.state import WorkerState
from holdfast_config import library_log
from holdfast_config.logging import tell_left_out

# Reports to the parent every second, from the event loop: the running tasks, why the store cannot be used, and why this
# worker should be recycled.

MOST_IDS = 100  # task ids in one report


@dataclass(slots=True)
class Heartbeat:
    """Reports the state of one worker to its parent."""

    context: WorkerContext
    link: Link

    async def serve(self) -> None:
        """Report every second; never returns."""
        while True:
            self.send()
            tell_left_out()
            await anyio.sleep(until_next(time.monotonic(), self.context.spec.slot))

    def send(self) -> None:
        """Report now."""
        state = self.context.state
        ids = [task_id for task_id in state.exchange.held if task_id not in state.ahead][:MOST_IDS]
        degraded = self.context.retries.degraded
        self.link.send(
            Beat(running=ids, settled=state.use.done, degraded=degraded, recycle_reason=state.recycle_reason)
        )


SECOND_LOOK = 0.05  # seconds until a second measurement: memory that is free again by then is no reason to recycle
TRIAL = 1.0  # seconds that the first task runs alone, if it does not end before

_log = library_log.get_logger("holdfast.worker")


@dataclass(slots=True)
class Recycler:
    """Counts tasks and measures memory, for the recycling of this worker (its replacement by a successor). It updates
    `use` and `recycle_reason` of the state, and reports a reason to the parent at once."""

    state: WorkerState
    heartbeat: Heartbeat
    _process: psutil.Process | None = None
    _begun: anyio.Event = field(default_factory=anyio.Event)
    _heavy: anyio.Event = field(default_factory=anyio.Event)

    def measure_first(self) -> str:
        """Measure the worker's memory before its first task. Returns the reason if the worker could never run a task
        within its limits, else an empty text."""
        memory = self._memory()
        self.state.use = WorkerUse(first=memory, memory=memory)
        return recycle.refusal(self.state.limits, memory)

    def task_begun(self) -> None:
        """Record that a task was started. Memory is measured only if there is a limit."""
        if self.state.limits.memory is not None:
            self._begun.set()

    def task_ended(self) -> None:
        """Count a task that has ended, and measure the memory."""
        limits, use = self.state.limits, self.state.use
        if limits.tasks is None and limits.memory is None:
            self.state.use = replace(use, done=use.done + 1)
        else:
            self._look(done=1)

    async def serve(self) -> None:
        """Measure again soon after a measurement above the limit; never returns."""
        while True:
            await self._heavy.wait()
            await anyio.sleep(SECOND_LOOK)
            self._heavy = anyio.Event()
            self._look()

    async def try_first_task(self) -> None:
        """Let the first task run alone for a while, to measure the memory that a task needs. Then other tasks may run
        beside it."""
        await self._begun.wait()
        await anyio.sleep(TRIAL)
        self.state.use = replace(self.state.use, tried=True)
        self._look()
        self.state.want_pull()

    def _look(self, done: int = 0) -> None:
        state, before = self.state, self.state.use
        state.use = replace(before, done=before.done + done, before=before.memory, memory=self._memory())
        if recycle.heavy(state.limits, state.use):
            self._heavy.set()
        if reason := recycle.recycle_reason(state.limits, state.use):
            self.ask(reason)

    def ask(self, reason: str) -> None:
        """Ask the parent for a successor; only the first reason is sent."""
        if not self.state.recycle_reason:
            self.state.recycle_reason = reason
            _log.info("this worker is to be recycled", reason=reason)
            self.heartbeat.send()

    def _memory(self) -> int:
        """Resident memory in bytes; 0 if there is no memory limit."""
        if self.state.limits.memory is None:
            return 0
        self._process = self._process or psutil.Process()
        return int(self._process.memory_info().rss)
