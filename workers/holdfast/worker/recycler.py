"""What a life has worn the worker: tasks counted, memory looked at after each task, a successor asked for in time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import anyio
import psutil

from holdfast.core import recycle
from holdfast.core.recycle import RecycleLimits, WorkerUse
from holdfast.worker.spec import WorkerSpec

SECOND_LOOK = 0.05  # seconds: memory that is free again by then was no reason to go
TRIAL = 1.0  # seconds that the first task of a life runs alone, if it does not end before


@dataclass(slots=True)
class Recycler:
    """`tell` is called once the worker is worn; `worn` says why, or is empty. `tried` is called when the first task has
    run for so long that others may run beside it."""

    limits: RecycleLimits
    tell: Callable[[], None]
    tried: Callable[[], None]
    worn: str = ""
    _wear: WorkerUse = field(default_factory=WorkerUse)
    _process: psutil.Process = field(default_factory=psutil.Process)
    _begun: anyio.Event = field(default_factory=anyio.Event)
    _heavy: anyio.Event = field(default_factory=anyio.Event)

    @classmethod
    def of(cls, spec: WorkerSpec, tell: Callable[[], None], tried: Callable[[], None]) -> Recycler:
        settings = spec.settings
        return cls(RecycleLimits.of(settings.max_tasks, settings.max_memory, random.random()), tell, tried)

    def begin(self) -> str:
        """Measure the worker before its first task; why it can never do one within its limits, or empty."""
        memory = self._memory()
        self._wear = WorkerUse(first=memory, memory=memory)
        return recycle.refusal(self.limits, memory)

    def appetite(self, held: int) -> int:
        """How many more tasks may be claimed beside those held."""
        return recycle.appetite(self.limits, self._wear, held)

    def begun(self) -> None:
        """A task was started. What it takes matters only under a limit."""
        if self.limits.memory is not None:
            self._begun.set()

    def ended(self) -> None:
        """One task more."""
        self._look(done=1)

    async def serve(self) -> None:
        """A second look soon after one that found too much."""
        while True:
            await self._heavy.wait()
            await anyio.sleep(SECOND_LOOK)
            self._heavy = anyio.Event()
            self._look()

    async def try_out(self) -> None:
        """What the first task has taken when it has run for a while tells what one costs, as far as can be known."""
        await self._begun.wait()
        await anyio.sleep(TRIAL)
        self._wear = replace(self._wear, tried=True)
        self._look()
        self.tried()

    def _look(self, done: int = 0) -> None:
        before = self._wear
        self._wear = replace(before, done=before.done + done, before=before.memory, memory=self._memory())
        if recycle.heavy(self.limits, self._wear):
            self._heavy.set()
        if not self.worn and (why := recycle.worn(self.limits, self._wear)):
            self.worn = why
            self.tell()

    def _memory(self) -> int:
        """Resident, in bytes; not looked at where nothing depends on it."""
        return 0 if self.limits.memory is None else int(self._process.memory_info().rss)
