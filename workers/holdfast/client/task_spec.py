"""A task as a producer asks for it: the arguments of one `run_task`, one line of `supervisor submit --jsonl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypedDict, cast

import msgspec
from msgspec.structs import force_setattr


class TaskSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task to run. Give at least one of `text`, `data` and `name` (of a registered handler, with `kwargs`).

    `delay` in seconds or `at` (an aware datetime or Unix seconds; the past means now) put it off; `timeout` in seconds
    bounds one run of the handler. Missing ids are made. With a given task id, the message id is made from that id and
    the content, so that the same call twice is one task and one run. A `key` makes both ids.

    `after`: ids of parents; this task begins when all have ended. If one does not complete, this task fails, or with
    `if_parent_fails="run"` still runs. `expires`: seconds from acceptance, or an aware datetime; if no worker has taken
    the task by then, it is canceled. `debounce`: a key; with a `delay`, the latest submission with this key replaces
    the waiting one. `unique`: a key; until its task has ended, or for `unique_for` seconds, another submission with it
    is a duplicate. Tasks with the same `concurrency_key` run one at a time (a lane may allow more), in order.
    """

    text: str | None = None
    data: object = None
    name: str | None = None
    kwargs: Mapping[str, object] | None = None
    task_id: str | None = None
    context_id: str | None = None
    message_id: str | None = None
    lane: str | None = None
    delay: float | None = None
    at: datetime | float | None = None
    max_attempts: int | None = None
    timeout: float | None = None
    concurrency_key: str | None = None
    metadata: Mapping[str, object] | None = None
    webhook: str | None = None
    key: str | None = None
    after: Sequence[str] | None = None
    if_parent_fails: Literal["fail", "run"] | None = None
    expires: datetime | float | None = None
    debounce: str | None = None
    unique: str | None = None
    unique_for: float | None = None

    def __post_init__(self) -> None:
        """Any Mapping is taken; JSON is made of dicts."""
        for name in ("kwargs", "metadata"):
            value = getattr(self, name)
            if value is not None and type(value) is not dict and isinstance(value, Mapping):
                force_setattr(self, name, dict(cast("Mapping[object, object]", value)))


# The options of a submission and of a schedule, beside the task itself, as keywords for type checkers.


class TaskOptions(TypedDict, total=False):
    """The fields of TaskSpec that say how and when a task of a registered handler runs."""

    task_id: str | None
    context_id: str | None
    message_id: str | None
    lane: str | None
    delay: float | None
    at: datetime | float | None
    max_attempts: int | None
    timeout: float | None
    concurrency_key: str | None
    metadata: Mapping[str, object] | None
    webhook: str | None
    key: str | None
    after: Sequence[str] | None
    if_parent_fails: Literal["fail", "run"] | None
    expires: datetime | float | None
    debounce: str | None
    unique: str | None
    unique_for: float | None


class ScheduleOptions(TypedDict, total=False):
    """The fields of ScheduleSpec beside its moments and its task."""

    timezone: str
    anchor: float | str | None
    start: float | str | None
    end: float | str | None
    limit: int | None
    jitter: float | str
    overlap: str
    misfire: str
    start_deadline: float | str | None
    on_failure: str
    backoff: float | str
    owner: str


OF_ONE_TASK = frozenset({"task_id", "message_id", "key"})  # two tasks cannot both have it
OF_SCHEDULED = frozenset(  # TaskOptions that schedules know, too
    {"lane", "max_attempts", "timeout", "metadata", "expires", "unique", "unique_for", "concurrency_key", "webhook"}
)
