"""The options of a submission and of a schedule, beside the task itself, as keywords for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypedDict


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
