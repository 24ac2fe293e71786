"""Changes of a lane."""

from __future__ import annotations

from holdfastd.web.changes.change import Asked, Change


async def _pause(asked: Asked) -> None:
    await asked.manager.pause_queue(asked.subject, asked.reason("paused"))


async def _resume(asked: Asked) -> None:
    await asked.manager.resume_queue(asked.subject)


LANE_CHANGES = (
    Change("/lanes/pause", "lane", "/lanes", _pause),
    Change("/lanes/resume", "lane", "/lanes", _resume),
)
