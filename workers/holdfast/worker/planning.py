"""The schedules that the application's code defines: each worker sees to it that they are there, which changes nothing
where another has done so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import structlog

from holdfast.errors import InvalidScheduleError
from holdfast.handler.handler import Handler
from holdfast.patience import Patience
from holdfast.worker.post import Post

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class Planning:
    post: Post
    handler: Handler

    async def serve(self) -> None:
        if not self.handler.schedules:
            return
        from holdfast.schedules import Schedules  # seldom needed, and what it brings along is not small

        settings = self.post.spec.settings
        once = Patience(attempts=1)  # it is asked again here, for as long as it takes
        schedules = Schedules(self.post.store, settings.queue_name, settings.max_message_bytes, once)
        for schedule_id, spec in self.handler.schedules.items():
            try:
                declare = partial(schedules.declare, schedule_id, spec, settings.application or "")
                put = await self.post.insist.call("schedules", declare)
            except InvalidScheduleError as error:  # the code is older than its last date: its tasks are served still
                _log.warning("a schedule of the code cannot be set", schedule=schedule_id, reason=str(error))
            else:
                if put.word == "foreign":
                    _log.warning(
                        "a schedule of the code is another application's, which runs: it stays as that one declares it",
                        schedule=schedule_id,
                        remedy="give it another id in one of them",
                    )
