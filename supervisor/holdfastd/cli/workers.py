"""`supervisor workers`: the workers of all hosts, as the store knows them."""

from __future__ import annotations

from dataclasses import asdict

import rich_click

from holdfast.core.records import WorkerRecord
from holdfastd.cli import options, output
from holdfastd.cli.records import duration
from holdfastd.cli.session import Session
from holdfastd.cli.storing import ask
from holdfastd.cli.tables import table

COLUMNS = ("host", "slot", "pid", "state", "heard", "running", "incarnation")


@rich_click.command(epilog="Example: supervisor workers --json")
@options.store
@options.pass_session
def workers(session: Session, /) -> None:
    """List the workers of all hosts that use this queue."""
    found = ask(session, lambda store: store.workers())
    if session.json:
        output.document([asdict(worker) for worker in found])
    else:
        table(COLUMNS, [_cells(worker) for worker in sorted(found, key=lambda one: (one.host, one.slot))])


def _cells(worker: WorkerRecord) -> tuple[object, ...]:
    heard = f"{duration(worker.beat_ago_ms / 1000)} ago"
    return (worker.host, worker.slot, worker.pid, worker.state, heard, len(worker.running), worker.incarnation)
