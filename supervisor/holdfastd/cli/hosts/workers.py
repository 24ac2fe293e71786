"""`supervisor workers`: the workers of all hosts, or the last deaths of this supervisor's processes."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec
import rich_click

from holdfast.core.duration_words import duration
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.tasks import WorkerKind, WorkerRecord
from holdfast.errors import StoreError
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.common.table_fit import TableFit
from holdfastd.cli.common.tables import table
from holdfastd.cli.views import death_views, host_views, process_names
from holdfastd.control import client
from holdfastd.control.socket_protocol import AskStatus
from holdfastd.documents.host_documents import worker_document

COLUMNS = ("host", "slot", "pid", "state", "heard", "running", "incarnation")
FIT = TableFit(("incarnation",), drop=("incarnation", "pid"))


@rich_click.command(epilog="Examples: supervisor workers --json; supervisor workers --deaths")
@click.option(
    "--deaths", "with_deaths", is_flag=True, help="Show the last deaths of this supervisor's processes instead."
)
@options.wide
@options.store
@options.pass_reading_session
def workers(session: Session, /, with_deaths: bool) -> None:
    """List the workers of all hosts of this queue, or with --deaths the last deaths of this supervisor's processes."""
    if with_deaths:
        _print_deaths(session)
    else:
        _print_living(session)


def _print_living(session: Session, /) -> None:
    records, quiet, now_ms = ask(session, _look)
    if session.json:
        output.document([worker_document(worker) for worker in records])
    else:
        for line in host_views.lines(quiet, now_ms):
            output.text(line)
        rows = [_cells(worker) for worker in sorted(records, key=lambda each: (each.host, each.slot))]
        table(COLUMNS, rows, FIT, wide=session.wide)


async def _look(store: Store) -> tuple[list[WorkerRecord], tuple[Quiet, ...], int]:
    return await store.workers(), await store.quiet_hosts(), await store.clock_ms()


def _print_deaths(session: Session, /) -> None:
    deaths = client.ask(session.runtime_dir, AskStatus()).deaths
    held = _held(session, [each.incarnation for each in deaths.recent if each.kind in process_names.CLAIMING])
    if session.json:
        recent = [msgspec.to_builtins(each) | {"held": held.get(each.incarnation, ())} for each in deaths.recent]
        output.document({"total": deaths.total, "recent": recent})
    else:
        rows = [death_views.cells(each, held.get(each.incarnation, ())) for each in deaths.recent]
        table(death_views.COLUMNS, rows, death_views.FIT, wide=session.wide)


def _held(session: Session, incarnations: Sequence[str], /) -> dict[str, tuple[str, ...]]:
    """The tasks they held when they died, by the store, which knows more than their last heartbeat but may be away."""
    try:
        known = ask(session, lambda store: store.incarnations(incarnations))
    except StoreError:
        return {}
    return {incarnation: worker.held for incarnation, worker in known.items()}


def _cells(worker: WorkerRecord) -> tuple[object, ...]:
    heard = f"{duration(worker.beat_ago_ms / 1000)} ago"
    state = "quiet" if worker.quiet and worker.state == "live" else worker.state
    slot = f"quarantine {worker.slot}" if worker.kind == WorkerKind.QUARANTINE else worker.slot
    return (worker.host, slot, worker.pid, state, heard, len(worker.running), worker.incarnation)
