"""Parses kill points: places in the code at which a process kills itself in fault tests. Example:
`HOLDFAST_KILL_AT=pulled:2`.

A kill point is `point[:n[:signal]][@file]`; several are joined by commas. When a process reaches the point for the n-th
time (default 1), it sends itself the signal (default KILL). If a file is named, the process sends the signal from the
n-th time on, and only if the process has removed this file. So a file ends exactly one process. A test may create the
file at any time.
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
    """The kill points: those of a worker, the steward, the parent, and the processes that write to PostgreSQL, in this
    order."""

    FORK = "fork"  # a new worker, before it is registered in the store
    BELL = "bell"  # the worker has popped an element of its bell and has not sent a request yet
    PULL_SENT = "pull_sent"  # the worker has sent a request without settlements, and does not read the answer
    PULLED = "pulled"  # the worker has an answer with claims, and no handler has started
    HANDLER = "handler"  # before the handler is called
    STEP_RAN = "step_ran"  # the function of a step has returned, and its result is not sent yet
    STEP_SENT = "step_sent"
    STEP_KEPT = "step_kept"  # the store has the result of the step, and the handler has not gone on yet
    BEFORE_SETTLE = "before_settle"  # the handler has returned, and the outcome is not reported yet
    SETTLE_SENT = "settle_sent"
    SETTLED = "settled"
    DRAIN = "drain"  # before a request while draining
    BEFORE_RECOVER = "before_recover"  # before the tasks of a worker whose death the parent has reported are recovered
    RECOVER_SENT = "recover_sent"
    RECOVERED = "recovered"  # the tasks are recovered, and the parent is not told yet
    BEFORE_FIRE = "before_fire"  # schedules are due and their orders are made, but not sent
    FIRE_SENT = "fire_sent"
    FIRED = "fired"  # the store has created the tasks
    FORKED = "forked"  # the parent has forked a child and has not noted it yet
    WRITTEN = "written"  # a submit is in PostgreSQL and not in Redis
    GIVEN = "given"  # a submit is in Redis, and PostgreSQL does not have a note of this yet
    INGESTING = "ingesting"  # before a batch of the ledger is committed
    INGESTED = "ingested"  # a batch that is not empty is committed
    RESTORED = "restored"  # a page of tasks is restored to a rebuilt Redis, and this is not noted yet


@dataclass(frozen=True, slots=True)
class KillPoint:
    point: Point
    nth: int = 1
    signal: signals.Signals = signals.SIGKILL
    order: Path | None = None


def parse(text: str) -> tuple[KillPoint, ...]:
    """Parse a list of kill points. Raises ConfigError with the invalid part and the allowed values."""
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
        raise ValueError(f"{text!r}: no such signal; KILL, TERM and STOP are examples") from None
    return KillPoint(point, int(spelled["nth"] or 1), signal, Path(spelled["order"]) if spelled["order"] else None)
