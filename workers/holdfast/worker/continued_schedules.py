"""Fires that a worker makes itself: of schedules that go on now that it has settled a task of theirs.

A steward would make them, too, but perhaps after this worker has claimed again: two jobs that continue would then
alternate, whatever the weights of their lanes. What cannot be made here is left to the steward.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import anyio
import structlog

from holdfast.core.quiet_hosts import HaltScope
from holdfast.worker.context import WorkerContext

if TYPE_CHECKING:
    from holdfast.client.schedule_fire import ScheduleFirer

NEXT = 0.001  # seconds until the next millisecond, where this one has had a fire of the same schedule
TRIES = 3
LONGEST = 1.0

_log = structlog.get_logger("holdfast.worker")


@dataclass
class ContinuedSchedules:
    """`longest`: seconds for which they may keep the worker from its next claim."""

    post: WorkerContext
    longest: float = LONGEST

    @cached_property
    def _firing(self) -> ScheduleFirer:
        from holdfast.client.schedule_fire import ScheduleFirer  # seldom needed, and what it brings along is not small

        settings, spec = self.post.spec.settings, self.post.spec
        scope = HaltScope(socket.gethostname(), spec.halt or 0)
        return ScheduleFirer(self.post.store, settings.queue_name, settings.max_message_bytes, scope=scope)

    async def make(self, schedule_ids: Sequence[str]) -> None:
        with anyio.move_on_after(self.longest) as waits:
            try:
                await self._make(schedule_ids)
            except Exception:  # the border of these fires: a steward finds what is due, and says what is wrong with it
                _log.debug("schedules that go on are left to the steward", schedules=schedule_ids, exc_info=True)
        if waits.cancelled_caught:
            _log.debug("schedules that go on are left to the steward: the store is slow", schedules=schedule_ids)

    async def _make(self, schedule_ids: Sequence[str]) -> None:
        for _ in range(TRIES):
            schedule_ids = await self._firing.go_on(schedule_ids)
            if not schedule_ids:
                return
            await anyio.sleep(NEXT)
