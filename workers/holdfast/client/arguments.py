"""Checks a producer's arguments. A failed check raises InvalidTaskError, which names the argument, its value and the
values that are allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, TypeVar, cast

import msgspec
from msgspec import Meta

from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import MOST_PARENTS, IfParentFails, Submission, SubmitOptions, key_digest
from holdfast.core.batches import BATCH_ID_RULE, is_batch_id
from holdfast.core.identity import TASK_ID_RULE, is_task_id
from holdfast.core.plain_json import check_json, is_number, shown
from holdfast.core.settle import one_line
from holdfast.core.task_states import State
from holdfast.core.tasks import LONGEST_TEXT
from holdfast.errors import InvalidTaskError
from holdfast_config import addresses, durations
from holdfast_config.lanes import list_name

CENTURY = 100 * 365 * 86400.0  # seconds: the longest delay
LAST_SECOND = 253402300799.0  # the end of the year 9999
MAX_ATTEMPTS = 1000
MOST_WORKERS = 1000  # in one process
LONGEST_ID = 1000
LONGEST_NAME = 200
LONGEST_CURSOR = 1000
LONGEST_PAGE = 10_000
LONGEST_KEY = 128

Duration = Annotated[str, Meta(min_length=1, max_length=50, description="A duration: seconds, or 90s, 5m, 1h30m, 7d.")]
W = TypeVar("W", bound=StrEnum)

_ERROR_KIND = re.compile(r"[0-9a-f]{12}")
_OWNER = re.compile(r"[A-Za-z0-9_.@-]{1,128}")


def check(spec: TaskSpec) -> None:
    """Check that `spec` can be submitted."""
    if not isinstance(spec, TaskSpec):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise InvalidTaskError(f"task {shown(spec)}: a TaskSpec is expected")
    _check_content(spec)
    if spec.task_id is not None:
        check_id(spec.task_id)
    if spec.lane is not None:
        check_lane(spec.lane)
    _check_when(spec)
    if spec.timeout is not None:
        check_seconds("timeout", spec.timeout, positive=True)
    check_attempts(spec.max_attempts)
    if spec.concurrency_key is not None:
        _check_key(spec.concurrency_key)


def check_id(value: object) -> str:
    if not isinstance(value, str) or not is_task_id(value):
        raise InvalidTaskError(f"task_id {shown(value)}: {TASK_ID_RULE} are allowed")
    return value


def check_batch_id(value: object) -> str:
    if not isinstance(value, str) or not is_batch_id(value):
        raise InvalidTaskError(f"batch {shown(value)}: {BATCH_ID_RULE} are allowed")
    return value


def check_lane(value: object) -> str:
    """Check a lane's name by the rule that workers use. Refuses every other key in the namespace of the queue."""
    try:
        return list_name(value)
    except ValueError as error:
        raise InvalidTaskError(f"lane {shown(value)}: {error}") from None


def check_ids(values: object) -> list[str]:
    return [check_id(value) for value in check_list("task_ids", values, "ids")]


def check_list(what: str, values: object, of_what: str) -> list[object]:
    """Check that `values` is an iterable, and no text, bytes or TaskSpec; returns its items. `of_what` names the
    expected items in the error."""
    if isinstance(values, str | bytes | msgspec.Struct) or not isinstance(values, Iterable):
        raise InvalidTaskError(f"{what} {shown(values)}: a list of {of_what} is expected")
    return list(cast("Iterable[object]", values))


def check_batch(values: object) -> list[Submission]:
    """Check that each of the values is a Submission, made by `prepare`; returns them as a list."""
    batch = check_list("batch", values, "values that `prepare` returned")
    for value in batch:
        if not isinstance(value, Submission):
            raise InvalidTaskError(f"batch: {shown(value)} is not a Submission: make each value with `prepare`")
    return cast("list[Submission]", batch)


def check_name(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME:
        raise InvalidTaskError(f"name {shown(value)}: a text of 1 to {LONGEST_NAME} characters is expected")
    check_json("name", value)
    return value


def check_text(value: object) -> str:
    """Check a text to search for; returns it."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_TEXT:
        raise InvalidTaskError(f"text {shown(value)}: 1 to {LONGEST_TEXT} characters to search for are expected")
    check_json("text", value)
    return value


def check_owner(value: object) -> str:
    """Check the id of a worker's incarnation; returns it."""
    if not isinstance(value, str) or not _OWNER.fullmatch(value):
        form = "32 hexadecimal digits, as in `supervisor workers --json`"
        raise InvalidTaskError(f"owner {shown(value)}: the incarnation of a worker is expected: {form}")
    return value


def check_error_kind(value: object) -> str:
    """Check the id of a kind of errors; returns it."""
    if not isinstance(value, str) or not _ERROR_KIND.fullmatch(value):
        raise InvalidTaskError(
            f"error {shown(value)}: the id of a kind of errors is expected, 12 hex digits; `supervisor tasks errors` "
            "lists them"
        )
    return value


def check_reason(value: object) -> str:
    """Check a reason; returns it on one line, shortened to the length that a task's history keeps."""
    if not isinstance(value, str):
        raise InvalidTaskError(f"reason {shown(value)}: text expected")
    check_json("reason", value)
    return one_line(value)


def check_cursor(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_CURSOR or not value.isascii():
        raise InvalidTaskError(
            f"cursor {shown(value)}: give the cursor of the previous page, or none for the first page"
        )
    return value


def check_position(value: object) -> int:
    """Check the position of a part that a task emitted (0 for none); returns it."""
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise InvalidTaskError(f"after {shown(value)}: the position of the last part that was read, or 0, is expected")
    return value


def check_moment(what: str, value: object) -> int:
    """Check a moment in Unix milliseconds; returns it."""
    if type(value) is not int or not 0 <= value <= LAST_SECOND * 1000:
        raise InvalidTaskError(f"{what} {shown(value)}: Unix milliseconds, 1970 to 9999, are allowed")
    return value


def check_states(states: Sequence[object]) -> tuple[State, ...]:
    return check_words("state", states, State)


def check_words(what: str, words: Sequence[object], allowed: Iterable[W]) -> tuple[W, ...]:
    """Check these words; returns the members of the enumeration that they name. `allowed`: the members that may be
    named."""
    known: dict[object, W] = {str(each): each for each in allowed}
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise InvalidTaskError(f"{what} {shown(word)}: {', '.join(map(str, known))} are allowed")
    return tuple(known[word] for word in words)


def check_limit(limit: object) -> int:
    if type(limit) is not int or not 1 <= limit <= LONGEST_PAGE:
        raise InvalidTaskError(f"limit {shown(limit)}: a whole number from 1 to {LONGEST_PAGE} is allowed")
    return limit


def check_workers(workers: object) -> int:
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise InvalidTaskError(f"workers {shown(workers)}: a whole number from 1 to {MOST_WORKERS} is allowed")
    return workers


def check_flag(what: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidTaskError(f"{what} {shown(value)}: True or False is expected")
    return value


def check_callback(what: str, value: object) -> None:
    if value is not None and not callable(value):
        raise InvalidTaskError(f"{what} {shown(value)}: a function, or None, is expected")


def check_seconds(what: str, value: object, *, positive: bool = False) -> None:
    if not is_number(value) or not 0 <= value <= CENTURY or (positive and value == 0):
        allowed = "above 0" if positive else "from 0"
        raise InvalidTaskError(f"{what} {shown(value)}: seconds {allowed} up to {CENTURY:.0f} are allowed")


def check_duration(what: str, value: object) -> float:
    """Check a duration; returns it in seconds."""
    try:
        return durations.seconds(value)
    except ValueError:
        raise InvalidTaskError(
            f"{what} {shown(value)}: a duration is expected: seconds, or 90s, 5m, 1h30m, 7d"
        ) from None


def _check_content(spec: TaskSpec) -> None:
    if spec.text is None and spec.data is None and spec.name is None:
        raise InvalidTaskError("nothing to run: give text, data or the name of a handler")
    if spec.data is not None and spec.name is not None:
        raise InvalidTaskError("data and name exclude each other: pass the arguments of a named handler as kwargs")
    if spec.kwargs is not None and spec.name is None:
        raise InvalidTaskError("kwargs need name: the name of the handler that gets them")
    if spec.name is not None:
        check_name(spec.name)
    if spec.kwargs is not None:
        _check_kind("kwargs", spec.kwargs, dict)
    if spec.text is None and spec.context_id is None and spec.message_id is None and spec.metadata is None:
        if spec.data is not None:
            check_json("data", spec.data)
    else:
        _check_other_content(spec)


def _check_other_content(spec: TaskSpec) -> None:
    if spec.text is not None:
        _check_kind("text", spec.text, str)
    check_key("context_id", spec.context_id)
    check_key("message_id", spec.message_id)
    if spec.metadata is not None:
        _check_kind("metadata", spec.metadata, dict)
    check_json("data", spec.data)


def _check_kind(what: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise InvalidTaskError(f"{what} {shown(value)}: {'text' if kind is str else 'names with values'} expected")
    check_json(what, value)


def _check_when(spec: TaskSpec) -> None:
    if spec.delay is not None and spec.at is not None:
        raise InvalidTaskError("delay and at exclude each other: give one")
    if spec.delay is not None:
        check_seconds("delay", spec.delay)
    at = spec.at
    if isinstance(at, datetime):
        _check_zone("at", at)
        at = at.timestamp()
    if at is not None and not (is_number(at) and 0 <= at <= LAST_SECOND):
        raise InvalidTaskError(f"at {shown(spec.at)}: Unix seconds or a date with its zone, 1970 to 9999, are allowed")


def _check_zone(what: str, at: datetime) -> None:
    if at.utcoffset() is None:
        raise InvalidTaskError(f"{what} {at.isoformat()}: has no time zone; add one, as in {at.isoformat()}+00:00")


def check_attempts(value: object) -> None:
    if value is not None and (type(value) is not int or not 1 <= value <= MAX_ATTEMPTS):
        raise InvalidTaskError(f"max_attempts {shown(value)}: a whole number from 1 to {MAX_ATTEMPTS} is allowed")


def _check_key(value: object) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_KEY or not value.isprintable():
        raise InvalidTaskError(f"concurrency_key {shown(value)}: 1 to {LONGEST_KEY} printable characters are allowed")


# Check the options of a submit (parents, expiry, keys, webhook) and convert them to the store's values.

_OPTIONS = attrgetter("after", "if_parent_fails", "expires", "webhook", "key", "debounce", "unique", "unique_for")
_NONE = (None,) * 8


def checked_options(spec: TaskSpec) -> SubmitOptions | None:
    """Check the options of `spec`; returns them for the store, or None if there are none, which is the usual case.
    Raises InvalidTaskError."""
    if _OPTIONS(spec) == _NONE:
        return None
    _check_options(spec)
    at = isinstance(spec.expires, datetime)
    options = SubmitOptions(
        after=tuple(dict.fromkeys(spec.after or ())),
        if_parent_fails=IfParentFails(spec.if_parent_fails or IfParentFails.FAIL),
        expires_ms=unix_ms(spec.expires) if at else None,
        expires_in_ms=None if isinstance(spec.expires, datetime) else ms(spec.expires),
        debounce=key_digest(spec.debounce),
        unique=key_digest(spec.unique),
        unique_ms=ms(spec.unique_for),
        webhook=spec.webhook or "",
    )
    return None if options == SubmitOptions(if_parent_fails=options.if_parent_fails) else options


def ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000)) if seconds else 0


def unix_ms(at: datetime | float | None) -> int | None:
    return ms(at.timestamp() if isinstance(at, datetime) else at)


def _check_options(spec: TaskSpec) -> None:
    _check_parents(spec)
    _check_expiry(spec)
    _check_webhook(spec.webhook)
    for what, key in (("key", spec.key), ("debounce", spec.debounce), ("unique", spec.unique)):
        check_key(what, key)
    if spec.key is not None and spec.task_id is not None:
        raise InvalidTaskError("key and task_id exclude each other: the task id is made from the key")
    if spec.debounce is not None:
        _check_debounce(spec)
    if spec.unique_for is not None:
        if spec.unique is None:
            raise InvalidTaskError("unique_for needs unique: the key that is held for this time")
        check_seconds("unique_for", spec.unique_for, positive=True)


def _check_parents(spec: TaskSpec) -> None:
    after = _ids(spec.after)
    if spec.task_id is not None and spec.task_id in after:
        raise InvalidTaskError(f"after {spec.task_id}: a task cannot wait for itself")
    if len(set(after)) > MOST_PARENTS:
        raise InvalidTaskError(
            f"after names {len(set(after))} tasks: a task can wait for at most {MOST_PARENTS} others"
        )
    policy: object = spec.if_parent_fails
    if policy is not None and policy not in tuple(IfParentFails):
        raise InvalidTaskError(f"if_parent_fails {shown(policy)}: fail or run is allowed")
    if policy is not None and not after:
        raise InvalidTaskError("if_parent_fails needs after: the tasks that this one waits for")


def _ids(given: object) -> list[str]:
    if given is None:
        return []
    if not isinstance(given, list | tuple):
        raise InvalidTaskError(f"after must be a list of task ids, not {shown(given)}")
    return [check_id(one) for one in cast("Sequence[object]", given)]


def _check_expiry(spec: TaskSpec) -> None:
    expires = spec.expires
    if isinstance(expires, datetime):
        _check_zone("expires", expires)
        if expires.year < 1971:
            raise InvalidTaskError(f"expires {expires.isoformat()}: a date from 1971 on is allowed")
        return
    if expires is None:
        return
    check_seconds("expires", expires, positive=True)
    if spec.delay is not None and spec.delay >= expires:
        raise InvalidTaskError(
            f"expires {shown(expires)}: the task would expire before its delay of {shown(spec.delay)} s is over"
        )


def check_key(what: str, key: object) -> None:
    if key is None:
        return
    if not isinstance(key, str):
        raise InvalidTaskError(f"{what} {shown(key)}: text expected")
    check_json(what, key)
    if not 1 <= len(key) <= LONGEST_ID:
        raise InvalidTaskError(f"{what} {shown(key)}: 1 to {LONGEST_ID} characters are allowed")


def _check_webhook(url: object) -> None:
    if url is None:
        return
    try:
        addresses.parse_webhook(url if isinstance(url, str) else "")
    except ValueError as error:
        raise InvalidTaskError(f"webhook {shown(url)}: {error}") from None


def _check_debounce(spec: TaskSpec) -> None:
    if not spec.delay:
        raise InvalidTaskError(
            "debounce needs delay: the time for which a submission waits, so that a later one can replace it"
        )
    for what, value in (("key", spec.key), ("unique", spec.unique)):
        if value is not None:
            raise InvalidTaskError(
                f"debounce and {what} exclude each other: debounce keeps the latest task, {what} keeps the first"
            )
