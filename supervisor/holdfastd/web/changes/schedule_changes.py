"""Changes of a schedule."""

from __future__ import annotations

from holdfastd.web.changes.change import Asked, Change


async def _run(asked: Asked) -> None:
    await asked.manager.schedules.run(asked.subject)


async def _pause(asked: Asked) -> None:
    await asked.manager.schedules.pause(asked.subject, asked.reason("paused"))


async def _resume(asked: Asked) -> None:
    await asked.manager.schedules.resume(asked.subject)


async def _remove(asked: Asked) -> None:
    await asked.manager.schedules.remove(asked.subject)


SCHEDULE_CHANGES = (
    Change("/schedules/run", "schedule_id", "/schedules", _run),
    Change("/schedules/pause", "schedule_id", "/schedules", _pause),
    Change("/schedules/resume", "schedule_id", "/schedules", _resume),
    Change("/schedules/remove", "schedule_id", "/schedules", _remove),
)
