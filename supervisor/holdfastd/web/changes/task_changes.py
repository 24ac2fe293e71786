"""Changes of one task."""

from __future__ import annotations

from holdfast.errors import InvalidTaskError
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.changes.submissions import SUBMISSIONS
from holdfastd.web.pages.task_pages import shown_again
from holdfastd.web.views.argument_fields import read_json


async def _cancel(asked: Asked) -> None:
    await asked.manager.cancel_task(asked.subject, asked.reason("canceled"))


async def _pause(asked: Asked) -> None:
    await asked.manager.pause_task(asked.subject, asked.reason("paused"))


async def _resume(asked: Asked) -> None:
    await asked.manager.resume_task(asked.subject)


async def _message(asked: Asked) -> None:
    """Continue the task with a message: a text, or JSON. The id of the form makes it one message, sent twice."""
    text, message_id = asked.fields.get("text", "").replace("\r\n", "\n"), asked.fields.get("message_id") or None
    if not text.strip():
        raise InvalidTaskError("the message is empty: write a text, or resume the task without one")
    if not asked.fields.get("json"):
        await asked.manager.resume_task(asked.subject, text, message_id=message_id)
        return
    try:
        data = read_json(text)
    except ValueError as error:
        raise InvalidTaskError(str(error)) from None
    if data is None:
        raise InvalidTaskError("the message is null, which is none: write another value")
    await asked.manager.resume_task(asked.subject, data=data, message_id=message_id)


async def _retry(asked: Asked) -> None:
    await asked.manager.retry_task(asked.subject, asked.reason("retried"))


async def _remove(asked: Asked) -> None:
    await asked.manager.remove_task(asked.subject)


TASK_CHANGES = (
    PageChange("/tasks/cancel", "task_id", "/task?id={}", _cancel),
    PageChange("/tasks/pause", "task_id", "/task?id={}", _pause),
    PageChange("/tasks/resume", "task_id", "/task?id={}", _resume),
    PageChange("/tasks/message", "task_id", "/task?id={}", _message, shown_again),
    PageChange("/tasks/retry", "task_id", "/task?id={}", _retry),
    PageChange("/tasks/remove", "task_id", "/tasks", _remove),
    *SUBMISSIONS,
)
