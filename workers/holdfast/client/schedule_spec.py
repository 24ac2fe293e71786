"""A schedule as a user asks for it, in code or in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

import msgspec
from msgspec.structs import force_setattr

# fmt: off
_NUMBERS = (
    "every", "at", "anchor", "start", "end", "jitter", "start_deadline", "backoff", "timeout", "expires", "unique_for",
)
# fmt: on
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,6})?", re.ASCII)


class ScheduleSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The moments come from one of `cron`, `every`, `rrule`, `at` and `schedule`, the task from `text`, `data` or
    `name` with `kwargs`.

    `every` is seconds, `5m`, `1h30m` or `PT5M`, counted from `anchor`, else from the moment it was set. `at` is a
    moment: Unix seconds or ISO 8601. `schedule` is NOW, AT:<time>, CONTINUE, STOP or a recurrence rule. Local times are
    those of `timezone`. Other lengths are seconds, or texts like `every`. A number may be written as a text, too.

    It fires from `start` to `end`, `limit` times at most, each time put off by less than `jitter`. While the task of
    the previous fire has not ended, `overlap` decides about the next: forbid (skipped), allow, queue-one (runs after
    it) or replace (the previous task is canceled). Of missed fires, `misfire` runs the latest, none (skip) or the
    oldest N (all:N); none that is later than `start_deadline`. After a failed task it goes on, or with `on_failure`
    stop it ends. `owner`: the application or file that may remove it when it no longer names it.

    `backoff` is the pause before a failed task is tried again the first time; it doubles with each attempt. A CONTINUE
    runs again `backoff` after its run has ended. `expires`, `unique`, `unique_for`, `concurrency_key` and `webhook` are
    those of TaskSpec; a fire whose `unique` key is held by a task is skipped.
    """

    cron: str | None = None
    every: float | str | None = None
    rrule: str | None = None
    at: float | str | None = None
    schedule: str | None = None
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
        """Any Mapping is taken; JSON is made of dicts. A number that is written as a text is that number, and a default
        that is written is left out: a spec is the same from a command line, a form, a file or code."""
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
                force_setattr(self, name, default)  # by the object itself it is known as the default


_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(ScheduleSpec) if each.default is not None}
