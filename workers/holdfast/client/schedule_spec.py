"""What a user asks for when something is to run again and again, as it is written in code or in a file."""

from __future__ import annotations

import msgspec


class ScheduleSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One of `cron`, `every`, `rrule`, `at` and `schedule` says when; `text`, `data` or `name` with `kwargs` what.

    `every` is seconds, `5m`, `1h30m` or `PT5M`, counted from `anchor`, else from the moment it was set. `at` is a
    moment: Unix seconds or ISO 8601. `schedule` is NOW, AT:<time>, CONTINUE, STOP or a recurrence rule. Local times
    are those of `timezone`. Other lengths are seconds, or texts like `every`.

    It fires from `start` to `end`, `limit` times at most, each time put off by less than `jitter`. While the task
    of the fire before has not ended, `overlap` says what becomes of the next: forbid (skipped), allow, queue-one
    (runs after it) or replace (the one before is canceled). Of fires that were missed, `misfire` runs the latest,
    none (skip) or the oldest N (all:N); none that is later than `start_deadline`. After a failed task it goes on,
    or with `on_failure` stop it ends. A CONTINUE runs again `backoff` after its run has ended. `owner` is whoever
    may prune it.
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
    kwargs: dict[str, object] | None = None
    lane: str | None = None
    max_attempts: int | None = None
    timeout: float | None = None
    metadata: dict[str, object] | None = None
