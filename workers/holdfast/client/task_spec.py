"""The spec of a task: the arguments of `run_task`, or one line of `supervisor submit --jsonl`.

Each option of a task is defined here, once: its name, its type, its default and its meaning. `run_task` and the
`options` of a registered handler take these definitions as their keywords (`keywords_of`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr


class TaskOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of a task: its ids and keys, and when, where and how often it runs."""

    task_id: str | None = None
    """The id of the task; made up if it is missing. The same content with the same id again adds nothing. Other
    content is one more message for the task, as long as it has not ended."""

    context_id: str | None = None
    """The id of the conversation that the task belongs to; made up if it is missing."""

    message_id: str | None = None
    """The id of the message. Without it, a message for a given `task_id` gets its id from that id and its content. Give
    another one to send the same content again."""

    lane: str | None = None
    """The lane in which the task waits. Default: the lane of its handler where the registry is known, else the queue
    itself."""

    delay: float | None = None
    """The task starts after so many seconds at the earliest. Excludes `at`."""

    at: datetime | float | None = None
    """The task starts at this moment at the earliest: a datetime with its time zone, or Unix seconds. A moment in the
    past means now."""

    max_attempts: int | None = None
    """The number of runs after which a task that fails is given up. It counts before the values of the handler and of
    the worker."""

    timeout: float | None = None
    """The seconds that one run of the handler may take. It counts before the values of the handler, the lane and the
    worker."""

    concurrency_key: str | None = None
    """Tasks with the same key run one at a time (a lane may allow more), in the order of their submission."""

    metadata: Mapping[str, object] | None = None
    """Names with values for the handler, which reads them as `task.metadata`."""

    webhook: str | None = None
    """The URL that is told when the task ends or asks for input."""

    key: str | None = None
    """A key that makes the id of the task and of its message: the same key again adds no second task. Excludes
    `task_id`."""

    after: Sequence[str] | None = None
    """The ids of tasks, 100 at most, that end before this one begins."""

    if_parent_fails: Literal["fail", "run"] | None = None
    """The choice for a task of `after` that does not complete: this task fails, too (`fail`, the default), or it runs
    all the same (`run`)."""

    expires: datetime | float | None = None
    """The task is canceled if no worker has taken it by then: seconds from its acceptance, or a datetime with its time
    zone."""

    debounce: str | None = None
    """A key; needs `delay`. The latest submission with this key replaces the one that still waits."""

    unique: str | None = None
    """A key. While a task with this key has not ended, another one is its duplicate and is not added."""

    unique_for: float | None = None
    """With `unique`: another task is a duplicate for so many seconds from the submission of the first, also after that
    has ended."""


class TaskSpec(TaskOptions, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task to run. Give at least one of `text`, `data` and `name`. Ids that are not given are generated."""

    text: str | None = None
    """The text of the message."""

    data: object = None
    """Any JSON value: the message, or a part of the message beside `text`. Excludes `name`."""

    name: str | None = None
    """The name of the registered handler that is to run."""

    kwargs: Mapping[str, object] | None = None
    """The arguments of the handler `name`."""

    def __post_init__(self) -> None:
        """Convert a Mapping to a dict, because only a dict can be encoded as JSON."""
        for name in ("kwargs", "metadata"):
            value = getattr(self, name)
            if value is not None and type(value) is not dict and isinstance(value, Mapping):
                force_setattr(self, name, dict(cast("Mapping[object, object]", value)))


class ScheduleOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of a schedule, without its moments and its task. ScheduleSpec explains them."""

    timezone: str = "UTC"
    anchor: float | str | None = None
    start: float | str | None = None
    end: float | str | None = None
    limit: int | None = None
    jitter: float | str = 0.0
    overlap: str = "forbid"
    misfire: str = "latest"
    start_deadline: float | str | None = None
    on_failure: str = "continue"
    backoff: float | str = 0.0
    owner: str = ""


class NamedSchedule(ScheduleOptions, frozen=True, kw_only=True):
    """The options of a schedule, with its id."""

    id: str


K = ParamSpec("K")
S = TypeVar("S")
W = TypeVar("W")
R = TypeVar("R")


def keywords_of(
    kind: Callable[K, object],
) -> Callable[[Callable[Concatenate[S, ...], R]], Callable[Concatenate[S, K], R]]:
    """A decorator that gives a method the signature of `kind`, for type checkers, editors and `help()`."""
    return partial(_with_keywords, kind=kind, own=1)


def keywords_after_one(
    kind: Callable[K, object],
) -> Callable[[Callable[Concatenate[S, W, ...], R]], Callable[Concatenate[S, W, K], R]]:
    """Like `keywords_of`, for a method whose first argument is its own, followed by the arguments of `kind`."""
    return partial(_with_keywords, kind=kind, own=2)


def _with_keywords(method: Any, kind: Callable[..., object], own: int) -> Any:
    signature = inspect.signature(method)
    parameters = [*signature.parameters.values()][:own]
    # inspect.signature() reads this attribute
    method.__signature__ = signature.replace(parameters=[*parameters, *inspect.signature(kind).parameters.values()])
    return method
