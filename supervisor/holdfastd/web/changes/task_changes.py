"""Changes of one task."""

from __future__ import annotations

from holdfastd.web.changes.change import Asked, Change


async def _cancel(asked: Asked) -> None:
    await asked.manager.cancel_task(asked.subject, asked.reason("canceled"))


async def _pause(asked: Asked) -> None:
    await asked.manager.pause_task(asked.subject, asked.reason("paused"))


async def _resume(asked: Asked) -> None:
    await asked.manager.resume_task(asked.subject)


async def _retry(asked: Asked) -> None:
    await asked.manager.retry_task(asked.subject, asked.reason("retried"))


async def _remove(asked: Asked) -> None:
    await asked.manager.remove_task(asked.subject)


TASK_CHANGES = (
    Change("/tasks/cancel", "task_id", "/task?id={}", _cancel),
    Change("/tasks/pause", "task_id", "/task?id={}", _pause),
    Change("/tasks/resume", "task_id", "/task?id={}", _resume),
    Change("/tasks/retry", "task_id", "/task?id={}", _retry),
    Change("/tasks/remove", "task_id", "/tasks", _remove),
)
