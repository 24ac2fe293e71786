"""The schedules that the application's code defines: each worker sees to it that they are there, which changes nothing
where another has done so.

One that another application declares is asked for again, less and less often: it may move from that code to
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
    post: WorkerContext
    handler: Handler

    async def serve(self) -> None:
        if not self.handler.schedules:
            return
        foreign = await self._declare(self.handler.schedules)
        for schedule_id in foreign:
            _log.warning(
                "a schedule of the code is another application's, which runs: it stays as that one declares it",
                schedule=schedule_id,
                remedy="take it out of the other application's code, or give it another id in one of them",
            )
        if foreign:
            await self._ask_again(foreign)

    async def _ask_again(self, foreign: list[str]) -> None:
        asked = await self.post.insist.call("schedules", self.post.store.clock_ms)
        wait = FIRST_WAIT
        while foreign and not await self._drains_within(wait):
            foreign = await self._declare(foreign, asked)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _drains_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self.post.draining.wait()
        return self.post.draining.is_set()

    async def _declare(self, ids: Iterable[str], asked: int | None = None) -> list[str]:
        """Those that stay another application's."""
        foreign: list[str] = []
        for schedule_id in ids:
            word = await self._put(schedule_id, asked)
            if word == "foreign":
                foreign.append(schedule_id)
            elif asked is not None and word in {"new", "changed", "same"}:
                _log.info("a schedule of the code is no longer another application's", schedule=schedule_id)
        return foreign

    async def _put(self, schedule_id: str, asked: int | None) -> str:
        from holdfast.client.schedules import Schedules  # seldom needed, and what it brings along is not small

        settings = self.post.spec.settings
        once = SubmitRetries(attempts=1)  # it is asked again here, for as long as it takes
        schedules = Schedules(self.post.store, settings.queue_name, settings.max_message_bytes, once)

        async def declare() -> Put:
            return await schedules.declare(
                schedule_id, self.handler.schedules[schedule_id], settings.application or "", asked
            )

        try:
            return (await self.post.insist.call("schedules", declare)).word
        except InvalidScheduleError as error:  # the code is older than its last date: its tasks are served still
            _log.warning("a schedule of the code cannot be set", schedule=schedule_id, reason=str(error))
            return ""
