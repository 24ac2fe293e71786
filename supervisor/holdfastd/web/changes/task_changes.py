"""Changes of one task."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import InvalidTaskError
from holdfastd.operations.tasks import (
    CANCEL_TASK,
    PAUSE_TASK,
    REMOVE_TASK,
    RESUME_TASK,
    RETRY_TASK,
    SEND_MESSAGE,
)
from holdfastd.web.changes.change import change_of
from holdfastd.web.changes.submissions import SUBMISSIONS
from holdfastd.web.pages.task_pages import shown_again
from holdfastd.web.views.argument_fields import read_json

TASK = "/task?id={}"


def _message(fields: Mapping[str, str]) -> Mapping[str, object]:
    """The text of the form is a text, or JSON. The id of the form makes it one message, sent twice."""
    others = {name: text for name, text in fields.items() if name not in ("text", "json")}
    text = fields.get("text", "").replace("\r\n", "\n")
    if not fields.get("json") or not text.strip():
        return {**others, "text": text}
    try:
        return {**others, "data": read_json(text)}
    except ValueError as error:
        raise InvalidTaskError(str(error)) from None


TASK_CHANGES = (
    change_of(CANCEL_TASK, TASK),
    change_of(PAUSE_TASK, TASK),
    change_of(RESUME_TASK, TASK),
    change_of(SEND_MESSAGE, TASK, shown_again, _message),
    change_of(RETRY_TASK, TASK),
    change_of(REMOVE_TASK, "/tasks"),
    *SUBMISSIONS,
)
