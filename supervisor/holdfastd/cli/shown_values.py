"""Texts for values that several commands show: quiet hosts, the ledger, processes, deaths, bars over time, retries."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

from holdfast.core import quiet_hosts
from holdfast.core.counts import LedgerStatus
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.tasks import Retried
from holdfast.core.words import duration
from holdfast.errors import StoreError
from holdfast.store import ledger_of
from holdfastd.cli.common import Session, tables
from holdfastd.cli.common.store_session import Store, ask
from holdfastd.control.socket_protocol import DeathStatus
from holdfastd.documents.printed_times import moment
from holdfastd.operations.tasks import RetriedTask

# Quiet and halted hosts as the command line shows them.


def lines(quiet: Sequence[Quiet], now_ms: int) -> Iterator[str]:
    """One line for each order that made hosts quiet or halted them."""
    return (quiet_hosts.quiet_line(each, now_ms) for each in quiet)


# The progress of the ledger in PostgreSQL.


def read(session: Session) -> LedgerStatus:
    """How far PostgreSQL's copy of the queue (the ledger) is behind Redis. Raises StoreError if Redis or PostgreSQL is
    away."""

    async def question(store: Store) -> LedgerStatus:
        ledger = ledger_of(store)
        assert ledger is not None
        return await ledger.ledger()

    return ask(session, question)


def read_or_error(session: Session) -> LedgerStatus | str | None:
    """How far PostgreSQL's copy of the queue is behind Redis, or the error as text; None if PostgreSQL is not used."""
    if session.settings.postgres is None:
        return None
    try:
        return read(session)
    except StoreError as error:
        return str(error)


def ledger_summary(ledger: LedgerStatus) -> str:
    """One line that says how far PostgreSQL's copy of the queue is behind Redis."""
    behind = f"{duration(ledger.behind_ms / 1000)} behind" if ledger.behind_ms else "up to date"
    lost = f", losses of Redis: {ledger.losses}" if ledger.losses else ""
    waiting = f", requests waiting for Redis: {ledger.waiting}" if ledger.waiting else ""
    return f"ledger {ledger.phase}, {behind}{waiting}{lost}, tasks put back: {ledger.restored}"


# Names of a supervisor's processes on the command line.

CLAIMING = frozenset({"worker", "quarantine"})  # there may be several of a kind, so they have numbers


def process_name(kind: str, slot: int) -> str:
    return f"{kind} {slot}" if kind in CLAIMING else kind


# Deaths of this supervisor's processes as the command line shows them.

DEATH_FIT = tables.TableFit(texts=("detail", "last tasks"), drop=("peak MiB", "lived", "last tasks", "pid", "status"))
DEATH_COLUMNS = ("at", "process", "pid", "cause", "detail", "status", "lived", "peak MiB", "last tasks")


def cells(each: DeathStatus, held: Sequence[str] = ()) -> tuple[object, ...]:
    """The cells of a death under DEATH_COLUMNS. `held`: the ids of the tasks that the process held, as the store knows
    them. Without them, the cells show the tasks of its last heartbeat."""
    name = process_name(each.kind, each.slot)
    peak = None if each.peak_bytes is None else round(each.peak_bytes / 2**20, 1)
    last = " ".join(held or each.running) or "-"
    how = (each.cause, each.detail, ended(each.status))
    return (moment(int(each.at * 1000)), name, each.pid, *how, duration(each.lived), peak, last)


def ended(status: int) -> str:
    """How a process ended: `exit 1` for the status 1, `SIGKILL` for -9."""
    if status >= 0:
        return f"exit {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


# Rows of bars that show how a number changed over time.

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[float]) -> str:
    """A row of bars, one for each number. The highest number gets the highest bar, zero gets a space."""
    highest = max(numbers, default=0)
    return "".join(_BARS[min(7, int(8 * number / highest))] if number > 0 else " " for number in numbers)


# The answer to a retry.

RETRIED = {Retried.NEW: "runs again as {}", Retried.AGAIN: "was already retried as {}", Retried.DUE: "is due now"}


def retried_words(answer: RetriedTask) -> str:
    return f"{answer['task_id']} {RETRIED[answer['answer']].format(answer['runs_as'])}"
