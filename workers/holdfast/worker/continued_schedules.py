"""A worker fires schedules that go on (`CONTINUE`) as soon as it has settled a task of theirs.

A steward would fire them, too, but perhaps after this worker has claimed again: two jobs that continue would then
alternate, whatever the weights of their lanes. What cannot be fired here is left to the steward.
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
from holdfast.telemetry.port import FireSpans
from holdfast.worker.context import WorkerContext

if TYPE_CHECKING:
    from holdfast.client.schedule_fire import ScheduleFirer

NEXT_MILLISECOND = 0.001  # seconds: two fires of one schedule need different milliseconds
TRIES = 3
TIMEOUT = 1.0

_log = structlog.get_logger("holdfast.worker")


@dataclass
class ContinuedSchedules:
    """`timeout`: seconds for which firing may keep the worker from its next claim. `spans`: makes a span of each
    fire."""

    context: WorkerContext
    timeout: float = TIMEOUT
    spans: FireSpans | None = None

    @cached_property
    def _firer(self) -> ScheduleFirer:
        from holdfast.client.schedule_fire import ScheduleFirer  # large imports, seldom needed

        settings, spec = self.context.spec.settings, self.context.spec
        scope = HaltScope(socket.gethostname(), spec.halt or 0)
        return ScheduleFirer(
            self.context.store, settings.queue_name, settings.max_message_bytes, scope=scope, spans=self.spans
        )

    async def fire(self, schedule_ids: Sequence[str]) -> None:
        """Fire these schedules. Never raises: a steward fires what is left."""
        with anyio.move_on_after(self.timeout) as scope:
            try:
                await self._fire(schedule_ids)
            except Exception:  # border of these fires: a steward fires what is due, and logs what is wrong with it
                _log.debug("continued schedules are left to the steward", schedules=schedule_ids, exc_info=True)
        if scope.cancelled_caught:
            _log.debug("continued schedules are left to the steward: the store is slow", schedules=schedule_ids)

    async def _fire(self, schedule_ids: Sequence[str]) -> None:
        for _ in range(TRIES):
            schedule_ids = await self._firer.go_on(schedule_ids)
            if not schedule_ids:
                return
            await anyio.sleep(NEXT_MILLISECOND)
