"""Parses kill points, at which a process ends itself in fault tests: `HOLDFAST_KILL_AT=pulled:2`.

A kill point is `point[:n[:signal]][@file]`; several are joined by commas. When a process reaches the point for the n-th
time (default 1), it sends itself the signal (default KILL). With a file, from the n-th time on only a process that
removes the file does so: each file causes one death, of any of the processes, and can be created at any time.
"""

from __future__ import annotations

import re
import signal as signals
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holdfast_config.errors import ConfigError

VARIABLE = "HOLDFAST_KILL_AT"

_SPELLED = re.compile(
    r"(?P<point>\w+)(:(?P<nth>[1-9]\d{0,8})(:(SIG)?(?P<signal>[A-Z]+))?)?(@(?P<order>/.+))?", re.ASCII
)


class Point(StrEnum):
    """Points of a worker, the steward, the parent, and the processes that write to PostgreSQL, in this order."""

    FORK = "fork"  # a new worker, before it is registered in the store
    BELL = "bell"  # a bell is popped, no request sent
    PULL_SENT = "pull_sent"  # the request is in the socket, without settlements; nobody reads the answer
    PULLED = "pulled"  # the answer has claims, no handler has started
    HANDLER = "handler"  # before the handler is called
    STEP_RAN = "step_ran"  # the function of a step has returned, its result is not sent
    STEP_SENT = "step_sent"
    STEP_KEPT = "step_kept"  # the store has the result, the handler does not go on yet
    BEFORE_SETTLE = "before_settle"  # the handler has returned, nothing is reported
    SETTLE_SENT = "settle_sent"
    SETTLED = "settled"
    DRAIN = "drain"  # before a request while draining
    BEFORE_RECOVER = "before_recover"  # of a worker whose death the parent has reported
    RECOVER_SENT = "recover_sent"
    RECOVERED = "recovered"  # not acknowledged yet
    BEFORE_FIRE = "before_fire"  # schedules are due and their fires decided
    FIRE_SENT = "fire_sent"
    FIRED = "fired"  # the store has created the tasks
    FORKED = "forked"  # the parent has a new child, before it handles it
    WRITTEN = "written"  # a submit is in PostgreSQL and not in Redis
    GIVEN = "given"  # the submit is in Redis, PostgreSQL has no note of that
    INGESTING = "ingesting"  # before a batch of the ledger is committed
    INGESTED = "ingested"  # a batch that is not empty is committed
    RESTORED = "restored"  # a page is restored to a rebuilt Redis, before that is noted


@dataclass(frozen=True, slots=True)
class KillPoint:
    point: Point
    nth: int = 1
    signal: signals.Signals = signals.SIGKILL
    order: Path | None = None


def parse(text: str) -> tuple[KillPoint, ...]:
    """Parses all kill points. Raises ConfigError with the part that is invalid and the allowed values."""
    try:
        return tuple(_parse(part.strip()) for part in text.split(",")) if text.strip() else ()
    except ValueError as error:
        raise ConfigError([f"{VARIABLE}: {error}"]) from None


def _parse(text: str) -> KillPoint:
    spelled = _SPELLED.fullmatch(text)
    if spelled is None:
        raise ValueError(f"{text!r}: must be point[:n[:signal]][@/file], as in pulled:2 or drain:1:STOP@/run/once")
    try:
        point = Point(spelled["point"])
    except ValueError:
        raise ValueError(f"{text!r}: no such point; there are {', '.join(Point)}") from None
    try:
        signal = signals.Signals[f"SIG{spelled['signal'] or 'KILL'}"]
    except KeyError:
        raise ValueError(f"{text!r}: no such signal; as in KILL, TERM or STOP") from None
    return KillPoint(point, int(spelled["nth"] or 1), signal, Path(spelled["order"]) if spelled["order"] else None)
