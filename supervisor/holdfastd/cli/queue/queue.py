"""`supervisor queue`: shows the waiting and unreadable entries, clears the queue, deletes it."""

from __future__ import annotations

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.plurals import counted
from holdfast.core.task_states import State
from holdfastd.cli.common import options, output
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, ask, manage
from holdfastd.cli.common.tables import table
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.cli.queue.unreadable import unreadable
from holdfastd.documents import task_documents

lane_option = click.option("--lane", help="Name of the lane. Default: the queue itself.", metavar="NAME")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Maximum number of entries to show."
)


@rich_click.group(epilog="Example: supervisor queue length")
def queue() -> None:
    """Inspect, clear or delete the queue."""


@queue.command(epilog="Example: supervisor queue length --json")
@options.store
@options.pass_reading_session
def length(session: Session, /) -> None:
    """Print the number of waiting entries of each lane."""
    lanes = ask(session, lambda store: store.counts()).lanes
    if session.json:
        output.document({"length": sum(lanes.values()), "lanes": lanes})
    else:
        table(("lane", "entries"), list(lanes.items()))


@queue.command(epilog="Example: supervisor queue peek --limit 3")
@lane_option
@limit_option
@options.store
@options.pass_reading_session
def peek(session: Session, /, lane: str | None, limit: int) -> None:
    """Show the next entries without removing them."""
    name = lane or session.settings.queue_name
    for entry in ask(session, lambda store: store.peek_entries(name, limit)):
        if session.json:
            output.line(task_documents.decoded(entry))
        else:
            output.text(entry.decode("utf-8", "backslashreplace"))


@queue.command(epilog="Example: supervisor queue clear --lane high --yes")
@lane_option
@click.option("--delayed", is_flag=True, help="Also cancel tasks that are due later.")
@yes_option
@options.store
@options.pass_session
def clear(session: Session, /, lane: str | None, delayed: bool, yes: bool) -> None:
    """Cancel all tasks that wait in the queue. Running tasks continue."""
    name = lane or session.settings.queue_name
    confirm(f"Cancel all tasks that wait in {name}?", "clearing a queue cannot be undone", yes=yes)

    async def work(manager: TaskManager) -> int:
        total = await manager.queue_length(lane)
        if delayed:  # in any lane: nobody counts those of one
            total += await manager.count_tasks(State.DELAYED)
        with WorkProgress("task", "cleared", total, is_estimate=delayed) as progress:
            return await manager.clear_queue(lane, delayed=delayed, on_step=progress.show)

    cleared = manage(session, work)
    if session.json:
        output.document({"cleared": cleared})
    else:
        output.text(f"{cleared} cleared")


@queue.command(epilog="Example: supervisor queue obliterate --yes")
@click.option(
    "--force",
    is_flag=True,
    help="Delete while workers are registered, too; results of their running tasks are lost.",
)
@yes_option
@options.store
@options.pass_session
def obliterate(session: Session, /, force: bool, yes: bool) -> None:
    """Delete all data of this queue: tasks in every state, lanes, schedules, dead letters and history."""
    name = session.settings.queue_name
    confirm(f"Delete all data of {name}?", "deleting a queue cannot be undone", yes=yes)

    total = ask(session, lambda store: store.key_count()).queue or None

    async def work(manager: TaskManager) -> int:
        with WorkProgress("key", "deleted", total, is_estimate=True) as progress:
            return await manager.obliterate_queue(force=force, on_step=progress.show)

    deleted = manage(session, work, LONG_RETRIES)
    if session.json:
        output.document({"deleted": deleted})
    else:
        output.text(f"{name}: {counted(deleted, 'key')} deleted")


queue.add_command(unreadable)
