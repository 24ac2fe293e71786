"""Deaths of this supervisor's processes as the command line shows them."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from holdfast.core.words import duration
from holdfastd.cli.common.tables import TableFit
from holdfastd.cli.views import process_names
from holdfastd.control.socket_protocol import DeathStatus
from holdfastd.documents.printed_times import moment

FIT = TableFit(texts=("detail", "last tasks"), drop=("peak MiB", "lived", "last tasks", "pid", "status"))
COLUMNS = ("at", "process", "pid", "cause", "detail", "status", "lived", "peak MiB", "last tasks")


def cells(each: DeathStatus, held: Sequence[str] = ()) -> tuple[object, ...]:
    """The cells under COLUMNS. `held`: the tasks it held by the store, newer than its last heartbeat."""
    name = process_names.name(each.kind, each.slot)
    peak = None if each.peak_bytes is None else round(each.peak_bytes / 2**20, 1)
    last = " ".join(held or each.running) or "-"
    how = (each.cause, each.detail, ended(each.status))
    return (moment(int(each.at * 1000)), name, each.pid, *how, duration(each.lived), peak, last)


def ended(status: int) -> str:
    """An exit status, or a signal given as a negative number, in words."""
    if status >= 0:
        return f"exit {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
