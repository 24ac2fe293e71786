"""Points at which a process ends itself, for tests of faults: `HOLDFAST_KILL_AT=pulled:2`.

One is `point[:n[:signal]][@file]`, several have commas between them: at the n-th time (the first, if not said) that a
process reaches the point it sends itself the signal (KILL, if not said). With a file, only the process that can remove
it does so, from the n-th time on: one file is one death, however many processes come by, and may be put there at any
moment.
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
    """Of a worker; then of the steward; then of the parent; then of whoever writes to a ledger in PostgreSQL."""

    FORK = "fork"  # a new worker, before the store knows of it
    BELL = "bell"  # popped; nothing asked yet
    PULL_SENT = "pull_sent"  # in the socket, without settlements; nobody will read the answer
    PULLED = "pulled"  # answered with claims, no handler started
    HANDLER = "handler"  # about to be called
    BEFORE_SETTLE = "before_settle"  # the handler has returned, nothing was reported
    SETTLE_SENT = "settle_sent"
    SETTLED = "settled"
    DRAIN = "drain"  # about to ask while draining
    BEFORE_RECOVER = "before_recover"  # of a death that the parent told of
    RECOVER_SENT = "recover_sent"
    RECOVERED = "recovered"  # not acknowledged yet
    BEFORE_FIRE = "before_fire"  # schedules are due, their fires are decided
    FIRE_SENT = "fire_sent"
    FIRED = "fired"  # the store has made the tasks
    FORKED = "forked"  # the parent has a child that it has not looked at
    WRITTEN = "written"  # a producer's request is in PostgreSQL, Redis has not been given it
    GIVEN = "given"  # Redis has it, PostgreSQL does not know that
    INGESTING = "ingesting"  # a round of the keeper's work, about to be committed
    INGESTED = "ingested"  # committed; there was something to do
    RESTORED = "restored"  # a page was put back into a Redis that is rebuilt, which is not noted yet


@dataclass(frozen=True, slots=True)
class KillPoint:
    point: Point
    nth: int = 1
    signal: signals.Signals = signals.SIGKILL
    order: Path | None = None


def parse(text: str) -> tuple[KillPoint, ...]:
    """ConfigError names the part that cannot be understood, and what is allowed."""
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
