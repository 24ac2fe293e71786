"""Each worker declares the schedules that the application's code defines, unless they are declared already.

A schedule that another application declares is asked for again, less and less often: it may move from that code to
this, or the application gets another name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import anyio
import structlog

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.schedule_records import Put
from holdfast.errors import InvalidScheduleError
from holdfast.handler.handler import Handler
from holdfast.worker.context import WorkerContext

FIRST_WAIT = 1.0  # seconds, then twice as long each time
LONGEST_WAIT = 30.0  # seconds

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class DeclaredSchedules:
    context: WorkerContext
    handler: Handler

    async def serve(self) -> None:
        """Declare them; returns once none is another application's, or the worker drains."""
        if not self.handler.schedules:
            return
        foreign = await self._declare(self.handler.schedules)
        for schedule_id in foreign:
            _log.warning(
                "this schedule is also in the code of another application that runs: that one's declaration is kept",
                schedule=schedule_id,
                remedy="remove it from the other application's code, or give it another id in one of them",
            )
        if foreign:
            await self._ask_again(foreign)

    async def _ask_again(self, foreign: list[str]) -> None:
        asked = await self.context.retries.call("schedules", self.context.store.clock_ms)
        wait = FIRST_WAIT
        while foreign and not await self._drains_within(wait):
            foreign = await self._declare(foreign, asked)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _drains_within(self, seconds: float) -> bool:
        state = self.context.state
        with anyio.move_on_after(seconds):
            await state.changed.until(lambda: state.is_draining)
        return state.is_draining

    async def _declare(self, ids: Iterable[str], asked: int | None = None) -> list[str]:
        """The ids of those that stay another application's."""
        foreign: list[str] = []
        for schedule_id in ids:
            answer = await self._put(schedule_id, asked)
            if answer == "foreign":
                foreign.append(schedule_id)
            elif asked is not None and answer in {"new", "changed", "same"}:
                _log.info("this schedule is no longer another application's", schedule=schedule_id)
        return foreign

    async def _put(self, schedule_id: str, asked: int | None) -> str:
        from holdfast.client.schedules import Schedules  # large imports, seldom needed

        settings = self.context.spec.settings
        single = SubmitRetries(attempts=1)  # `retries` below asks again, for as long as it takes
        schedules = Schedules(self.context.store, settings.queue_name, settings.max_message_bytes, single)

        async def declare() -> Put:
            return await schedules.declare(
                schedule_id, self.handler.schedules[schedule_id], settings.application or "", asked
            )

        try:
            return (await self.context.retries.call("schedules", declare)).word
        except InvalidScheduleError as error:  # its last date may have passed: the worker serves its tasks still
            _log.warning("a schedule of the code cannot be declared", schedule=schedule_id, reason=str(error))
            return ""
