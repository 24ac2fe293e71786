"""Deaths of this supervisor's processes as the command line shows them."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from holdfastd.cli.views import process_names
from holdfastd.cli.views.times import moment
from holdfastd.control.protocol import DeathStatus
from holdfastd.core.duration_words import duration

COLUMNS = ("at", "process", "pid", "cause", "detail", "status", "lived", "peak MiB", "last tasks")


def cells(one: DeathStatus, held: Sequence[str] = ()) -> tuple[object, ...]:
    """The cells under COLUMNS. `held`: the tasks it held by the store, newer than its last heartbeat."""
    name = process_names.name(one.kind, one.slot)
    peak = None if one.peak_bytes is None else round(one.peak_bytes / 2**20, 1)
    last = " ".join(held or one.running) or "-"
    how = (one.cause, one.detail, ended(one.status))
    return (moment(int(one.at * 1000)), name, one.pid, *how, duration(one.lived), peak, last)


def ended(status: int) -> str:
    """An exit status, or a signal given as a negative number, in words."""
    if status >= 0:
        return f"exit {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
