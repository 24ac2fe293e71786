"""What a producer asks for, as a value: the arguments of one `run_task`, one line of `supervisor submit --jsonl`."""

from __future__ import annotations

from datetime import datetime

import msgspec


class TaskSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task to run. At least one of `text`, `data` and `name` (of a registered handler, with `kwargs`) is given.

    `delay` in seconds or `at` (an aware datetime or Unix seconds; the past means now) put it off; `timeout` in seconds
    bounds one run of the handler. Ids that are not given are made up; the message id of a task id that is given comes
    from both it and the content, so that the same call twice is one task and one run.
    """

    text: str | None = None
    data: object = None
    name: str | None = None
    kwargs: dict[str, object] | None = None
    task_id: str | None = None
    context_id: str | None = None
    message_id: str | None = None
    lane: str | None = None
    delay: float | None = None
    at: datetime | float | None = None
    max_attempts: int | None = None
    timeout: float | None = None
    metadata: dict[str, object] | None = None
