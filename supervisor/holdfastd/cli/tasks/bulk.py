"""`supervisor tasks bulk`: lists changes of many tasks, stops them and goes on with them."""

from __future__ import annotations

import click
import rich_click

from holdfast.core.bulk_changes import KEPT, NOT_RUNNING, NOT_STOPPED, BulkChange
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.common.table_fit import TableFit
from holdfastd.cli.common.tables import table
from holdfastd.cli.tasks import bulk_run
from holdfastd.documents.bulk_documents import BulkDocument, bulk_document

COLUMNS = ("change", "verb", "filter", "state", "changed", "refused", "moved", "searched", "begun", "who", "from")
FIT = TableFit(("filter", "change"), ("who",), drop=("from", "moved", "refused", "searched", "who", "begun"))

change_argument = click.argument("change_id", metavar="CHANGE")


@rich_click.group(epilog="Example: supervisor tasks bulk list")
def bulk() -> None:
    """List changes of many tasks, stop them and go on with them.

    `supervisor tasks cancel`, `retry` and `remove` with a filter begin one; so do the dashboard and the HTTP API.
    """


@bulk.command("list", epilog="Example: supervisor tasks bulk list --json")
@click.option(
    "--limit", type=click.IntRange(1, KEPT), default=KEPT, show_default=True, help="Maximum number of changes."
)
@options.wide
@options.store
@options.pass_reading_session
def list_(session: Session, /, limit: int) -> None:
    """List changes of many tasks, newest first, and how far they are. The last 100 are kept."""

    async def look(store: Store) -> list[BulkDocument]:
        now_ms = await store.clock_ms()
        return [bulk_document(each, now_ms) for each in await store.bulk_changes(limit)]

    changes = ask(session, look)
    if session.json:
        output.document({"changes": changes})
    else:
        table(COLUMNS, [_cells(each) for each in changes], FIT, wide=session.wide)


def _cells(change: BulkDocument) -> tuple[object, ...]:
    numbers = (change["changed"], change["refused"], change["moved"], change["searched"])
    texts = (change["change_id"], change["verb"], change["filter"] or "all tasks", change["state"])
    return (*texts, *numbers, change["begun"], change["who"], change["origin"])


@bulk.command(epilog="Example: supervisor tasks bulk stop 8d1f0c2a9b7e4653")
@change_argument
@options.store
@options.pass_session
def stop(session: Session, /, change_id: str) -> int:
    """Stop a change of many tasks after the step in which it is."""

    async def stop_it(store: Store) -> bool:
        stopped = await store.stop_bulk(change_id)
        await bulk_run.note(store, "stop", change_id, "" if stopped else NOT_RUNNING)
        return stopped

    if not ask(session, stop_it):
        raise CommandError(f"change of many tasks {change_id!r}: {NOT_RUNNING}")
    output.text(f"{change_id} stopped")
    return Exit.OK


@bulk.command("go-on", epilog="Example: supervisor tasks bulk go-on 8d1f0c2a9b7e4653")
@change_argument
@options.store
@options.pass_session
def go_on(session: Session, /, change_id: str) -> int:
    """Go on with a change of many tasks that was stopped, or whose process is gone, from where it is.

    This command carries it out; Ctrl-C stops it.
    """

    async def resume_it(store: Store) -> BulkChange:
        change = await store.resume_bulk(change_id)
        await bulk_run.note(store, "go-on", change_id, "" if change else NOT_STOPPED)
        if change is None:
            raise CommandError(f"change of many tasks {change_id!r}: {NOT_STOPPED}")
        return change

    return bulk_run.carry_out(session, resume_it)
