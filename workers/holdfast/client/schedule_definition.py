"""Makes a schedule's definition from its spec. The whole spec is checked before anything is written; a wrong value
raises InvalidScheduleError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, cast, get_args, get_origin

import msgspec
from msgspec.structs import force_setattr

from holdfast.client.arguments import check, checked_options
from holdfast.client.task_spec import ScheduleOptions, TaskSpec
from holdfast.core.cadence import Cadence, Every, RecurrenceRule, cron, every, read, rule, stored
from holdfast.core.cadence.moments import LONGEST_SECONDS, At, Continue, Stop, moment_at, read_moment, zone
from holdfast.core.envelope import RETRY_BACKOFF
from holdfast.core.plain_json import shown
from holdfast.core.schedule_records import Definition, read_misfire
from holdfast.core.schedules import MOST_AT_ONCE, Bounds, Overlap, SchedulePolicy, expected_after
from holdfast.errors import InvalidScheduleError, InvalidTaskError
from holdfast_config import names
from holdfast_config.durations import seconds

# The spec of a schedule, from an application's code or from a file.

# fmt: off
_NUMBERS = (
    "every", "at", "anchor", "start", "end", "jitter", "start_deadline", "backoff", "timeout", "expires", "unique_for",
)
# fmt: on
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,6})?", re.ASCII)


class ScheduleSpec(ScheduleOptions, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The spec of a schedule: when it fires (submits a task), and the task that it submits each time. The moments come
    from one of `cron`, `every`, `rrule`, `at` and `schedule`. The task comes from `text`, `data`, or `name` with
    `kwargs`.

    `every` is a number of seconds, `5m`, `1h30m` or `PT5M`, counted from `anchor`, else from the moment the schedule
    was set. `at` is a moment: Unix seconds or ISO 8601. `schedule` is NOW, AT:<time>, CONTINUE, STOP or a recurrence
    rule. Times without a zone are local times of `timezone`. Other durations are seconds, or texts like those of
    `every`. A number may be written as a text, too.

    The schedule fires from `start` to `end`, `limit` times at most. Each time, the task is submitted after a random
    delay below `jitter`. If the previous task has not ended, `overlap` decides about the next one: forbid (no task is
    submitted), allow, queue-one (the next task runs after the previous one) or replace (the previous task is canceled).
    `misfire` says which tasks are still submitted if their time was missed: the latest, none (skip) or the oldest N
    (all:N). A task that is late by more than `start_deadline` is not submitted. After a failed task the schedule goes
    on; with `on_failure` stop it ends. `owner`: the application or file that may remove the schedule when it no longer
    names it.

    `backoff` is the pause before a failed task is tried again the first time; it doubles with each attempt. With
    CONTINUE, `backoff` is the pause between two runs. `expires`, `unique`, `unique_for`, `concurrency_key` and
    `webhook` mean the same as in TaskSpec. No task is submitted while another task holds the `unique` key.
    """

    cron: str | None = None
    every: float | str | None = None
    rrule: str | None = None
    at: float | str | None = None
    schedule: str | None = None

    text: str | None = None
    data: object = None
    name: str | None = None
    kwargs: Mapping[str, object] | None = None
    lane: str | None = None
    max_attempts: int | None = None
    timeout: float | str | None = None
    expires: float | str | None = None
    unique: str | None = None
    unique_for: float | str | None = None
    concurrency_key: str | None = None
    webhook: str | None = None
    metadata: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        """Bring specs from a command line, a web form, a file or code to the same form. Mappings become dicts, numbers
        in texts become numbers, and a field with its default value counts as not given."""
        for name in ("kwargs", "metadata"):
            value = getattr(self, name)
            if type(value) is not dict and isinstance(value, Mapping):
                force_setattr(self, name, dict(cast("Mapping[object, object]", value)))
        for name in _NUMBERS:
            value = getattr(self, name)
            if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
                force_setattr(self, name, float(value))
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if type(value) is type(default) and value == default:
                force_setattr(self, name, default)  # `omit_defaults` compares by identity


_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(ScheduleSpec) if each.default is not None}


SECOND = 1000
_ENDINGS = ("continue", "stop")
_MOMENTS = ("at", "anchor", "start", "end")
_MOST_FIRES = 1_000_000_000
_LONGEST_OWNER = 200
_OF_TASK = {*ScheduleSpec.__struct_fields__} & {*TaskSpec.__struct_fields__} - {
    "at"
}  # `at` is a moment of the schedule
_WAYS = ("cron", "every", "rrule", "at", "schedule")


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """A definition, and the moment of the schedule's first run in Unix milliseconds; None if it never runs (STOP)."""

    definition: Definition
    expected: int | None


def define(schedule_id: str, spec: ScheduleSpec, now: int, after: int | None = None) -> ScheduleChange:
    """The definition to store for `spec`. Planned moments up to `after` (without it: up to `now`) get no task. Both are
    Unix milliseconds. Raises InvalidScheduleError."""
    check_schedule_id(schedule_id)
    spec = _checked(spec)
    _check_task(spec)
    zone(spec.timezone)
    cadence = _cadence(spec, now)
    bounds, policy = _bounds(spec), _policy(spec, cadence)
    cadence = _within(cadence, bounds)
    backoff = _backoff(spec, cadence)
    definition = Definition(
        schedule_id,
        spelled(spec),
        stored(cadence),
        spec.timezone,
        bounds,
        policy,
        _one_of("on_failure", spec.on_failure, _ENDINGS),
        backoff,
        spec.owner,
    )
    expected = first_expected(definition, now if after is None else after)
    if expected is None and not isinstance(cadence, Stop):
        raise InvalidScheduleError(
            "this schedule never fires: no time in the future lies within its start, end and dates"
        )
    return ScheduleChange(definition, expected)


def spelled(spec: ScheduleSpec) -> str:
    """The spec as JSON with sorted keys. Two specs are the same if these texts are equal."""
    return msgspec.json.encode(spec, order="sorted").decode()


def first_expected(definition: Definition, after: int) -> int | None:
    """The first planned moment after `after`, in Unix milliseconds; None if there is none. A schedule whose only moment
    has passed still runs once, late."""
    schedule = definition.schedule()
    match schedule.cadence:
        case At(moment) | Continue(moment):
            return expected_after(schedule, min(after, moment - 1))
        case RecurrenceRule(start, timezone) if 0 <= after - moment_at(start, timezone) < SECOND:
            return expected_after(schedule, after - SECOND)  # the rule begins in this second: its first run counts
        case _:
            return expected_after(schedule, after)


def read_spec(values: Mapping[str, object]) -> ScheduleSpec:
    """A spec from a mapping of field names to values. Raises InvalidScheduleError, which names the first wrong
    value."""
    dates = {name: one.isoformat() for name, one in values.items() if name in _MOMENTS and isinstance(one, date)}
    try:
        return msgspec.convert({**values, **dates}, ScheduleSpec)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise InvalidScheduleError(_misfit(values) or f"schedule: {error}") from None


def _misfit(values: Mapping[str, object]) -> str:
    """The error text for the first unknown option, or the first value with a wrong type; empty if there is none."""
    types = {each.name: each.type for each in msgspec.structs.fields(ScheduleSpec)}
    for name, value in values.items():
        if name not in types:
            return f"{shown(name)} is no option of a schedule; the options are {', '.join(types)}"
        try:
            msgspec.convert(value, types[name])
        except (msgspec.ValidationError, UnicodeError):
            return f"{name} {shown(value)}: {_kind(types[name])} is expected"
    return ""


def _kind(of: Any) -> str:
    kinds = {str: "a text", int: "a whole number", float: "a number", Mapping: "an object of names and values"}
    parts = {get_origin(part) or part for part in get_args(of) or (of,)}
    return " or ".join(text for kind, text in reversed(kinds.items()) if kind in parts)


def _checked(spec: object) -> ScheduleSpec:
    """The spec with checked types. A spec made in code may hold values of any type."""
    if not isinstance(spec, ScheduleSpec):
        raise InvalidScheduleError(f"spec {shown(spec)}: a ScheduleSpec is expected")
    values = msgspec.structs.asdict(spec)
    for name, value in values.items():
        if isinstance(value, str) and not _is_text(value):
            raise InvalidScheduleError(
                f"{name} {shown(value)}: no Unicode text, because it contains half of a surrogate pair"
            )
    read = read_spec(values)
    check_owner(read.owner)
    return read


def check_owner(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_OWNER or not _is_text(value):
        raise InvalidScheduleError(f"owner {shown(value)}: a text of at most {_LONGEST_OWNER} characters is expected")
    return value


def _is_text(value: str) -> bool:
    """True for a text without lone surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def check_schedule_id(value: object) -> str:
    if names.is_name(value):
        return value
    raise InvalidScheduleError(f"schedule id {shown(value)}: {names.NAME_RULE} are allowed")


def _check_task(spec: ScheduleSpec) -> None:
    if spec.schedule is not None and spec.schedule.strip().upper() == "STOP":
        return  # a STOP makes no tasks
    task = task_of(spec)
    try:
        check(task)
        checked_options(task)
    except InvalidTaskError as error:
        raise InvalidScheduleError(str(error)) from None


def task_of(spec: ScheduleSpec) -> TaskSpec:
    """The spec of the task that the schedule submits at each run, without the task's id."""
    task: dict[str, Any] = {name: getattr(spec, name) for name in _OF_TASK}
    for name in ("timeout", "expires", "unique_for"):
        task[name] = _seconds(name, task[name])
    task["metadata"] = _metadata(spec)
    return TaskSpec(**task)


def _metadata(spec: ScheduleSpec) -> Mapping[str, object] | None:
    """The metadata of the schedule's tasks. It includes `backoff`, from which workers take the pause before a retry.
    For CONTINUE it does not include `backoff`, which is then the pause between two runs."""
    backoff = _length("backoff", spec.backoff)
    if not backoff or (spec.schedule or "").strip().upper() == "CONTINUE":
        return spec.metadata
    return {**(spec.metadata or {}), RETRY_BACKOFF: backoff / 1000}


def _seconds(what: str, value: float | str | None) -> float | None:
    """A duration in seconds above 0."""
    return None if value is None else _length(what, value, above=0) / 1000


def _cadence(spec: ScheduleSpec, now: int) -> Cadence:
    given = [way for way in _WAYS if getattr(spec, way) is not None]
    if len(given) != 1:
        text = " and ".join(given) or "nothing"
        raise InvalidScheduleError(f"when: {text} given; give one of {', '.join(_WAYS)}")
    if spec.anchor is not None and spec.every is None:
        raise InvalidScheduleError(
            "anchor is allowed only with every: a cron expression and a rule say by themselves when they fire"
        )
    if spec.cron is not None:
        return cron(spec.cron, spec.timezone)
    if spec.every is not None:
        anchor = _moment("anchor", spec.anchor, spec.timezone)
        return every(spec.every, now if anchor is None else anchor)
    if spec.rrule is not None:
        return rule(spec.rrule, spec.timezone, now)
    if spec.at is not None:
        moment = _moment("at", spec.at, spec.timezone)
        assert moment is not None
        return At(moment)
    return read(spec.schedule or "", spec.timezone, now)


def _within(cadence: Cadence, bounds: Bounds) -> Cadence:
    """The cadence within the bounds. Raises InvalidScheduleError if the cadence has only one moment, outside of the
    bounds. A CONTINUE begins at `start` at the earliest."""
    match cadence:
        case Continue(first):
            return Continue(max(first, bounds.start or 0))
        case At(moment) if not (bounds.start or 0) <= moment <= (moment if bounds.end is None else bounds.end):
            raise InvalidScheduleError(
                "the only time of this schedule is before start or after end: the schedule never fires"
            )
        case _:
            return cadence


def _bounds(spec: ScheduleSpec) -> Bounds:
    start, end = _moment("start", spec.start, spec.timezone), _moment("end", spec.end, spec.timezone)
    if start is not None and end is not None and end < start:
        raise InvalidScheduleError(f"end {spec.end!r} is before start {spec.start!r}")
    if spec.limit is not None and not 1 <= spec.limit <= _MOST_FIRES:
        raise InvalidScheduleError(f"limit {shown(spec.limit)}: a whole number from 1 to {_MOST_FIRES} is allowed")
    return Bounds(start, end, spec.limit)


def _policy(spec: ScheduleSpec, cadence: Cadence) -> SchedulePolicy:
    misfire = read_misfire(spec.misfire)
    if misfire is None or misfire.most > MOST_AT_ONCE:
        raise InvalidScheduleError(
            f"misfire {spec.misfire!r}: latest, skip, or all:N with N from 1 to {MOST_AT_ONCE}, is allowed"
        )
    jitter = _length("jitter", spec.jitter)
    if isinstance(cadence, Every) and jitter > cadence.interval:
        raise InvalidScheduleError(f"jitter {spec.jitter!r} is longer than the interval {spec.every!r}")
    deadline = None if spec.start_deadline is None else _length("start_deadline", spec.start_deadline)
    return SchedulePolicy(Overlap(_one_of("overlap", spec.overlap, tuple(Overlap))), misfire, deadline, jitter)


def _backoff(spec: ScheduleSpec, cadence: Cadence) -> int:
    """The pause of a CONTINUE after each run in milliseconds; 0 for other cadences."""
    backoff = _length("backoff", spec.backoff)
    if not isinstance(cadence, Continue):
        return 0
    if spec.unique is not None:
        raise InvalidScheduleError(
            f"unique {shown(spec.unique)}: not allowed with CONTINUE, because a run that is skipped as a duplicate "
            "would stop the schedule"
        )
    return backoff


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidScheduleError(f"{what} {value!r}: {', '.join(allowed)} are allowed")
    return value


def _length(what: str, value: float | str, above: int = -1) -> int:
    """The milliseconds of a duration, which must be more than `above`."""
    try:
        length = seconds(value)
    except ValueError:
        length = -1.0
    milliseconds = round(length * 1000)
    if not above < milliseconds <= LONGEST_SECONDS * 1000 or length < 0:
        allowed = "seconds above 0" if above == 0 else "seconds"
        allowed += ", or a duration of at most 3660d, such as 5m or 1h30m"
        raise InvalidScheduleError(f"{what} {shown(value)}: allowed are {allowed}")
    return milliseconds


def _moment(what: str, value: float | str | None, timezone: str) -> int | None:
    """Unix milliseconds of a moment in Unix seconds or ISO 8601. A time without a zone is a local time of
    `timezone`."""
    if value is None:
        return None
    try:
        return read_moment(str(value) if not isinstance(value, float) else f"{value:.3f}", timezone)
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{what}: {error}") from None
