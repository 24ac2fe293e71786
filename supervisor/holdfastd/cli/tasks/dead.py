"""`supervisor dead`: lists, shows, retries and deletes dead letters, the tasks that failed for good."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted, duration
from holdfast.errors import UnknownTaskError
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, converse, manage, operate, operate_in
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.common.task_id import TASK_ID, whole_id, whole_ids
from holdfastd.cli.tasks import change_tasks
from holdfastd.cli.tasks.tasks import show_task
from holdfastd.documents import task_documents
from holdfastd.operations.dead import REMOVE_ALL_DEAD, REMOVE_DEAD, dead_letters

WHICH = "name the dead letters by TASK_ID, or select them with --all, --name or --older"

COLUMNS = ("task", "lane", "dead for", "attempts", "crashes", "name", "reason")
FIT = TableFit(("task",), ("reason", "name"), drop=("crashes", "attempts", "lane", "name", "dead for"))

name_option = click.option("--name", help="Only tasks of the handler with this name.", metavar="NAME")
older_option = click.option(
    "--older", type=DURATION, help="Only tasks that failed longer ago: 90s, 5m, 7d.", metavar="DURATION"
)
all_option = click.option(
    "--all", "all_of_them", is_flag=True, help="All dead letters, or all that match the other options."
)
ids_argument = click.argument("task_ids", nargs=-1, type=TASK_ID, metavar="[TASK_ID...]")


@dataclass(frozen=True, slots=True)
class Choice:
    """A selection of dead letters."""

    name: str | None
    older: float | None

    def dead_letters(self, manager: TaskManager) -> AsyncIterator[TaskRecord]:
        """Newest first, page by page."""
        before_ms = None if self.older is None else round((time.time() - self.older) * 1000)
        return dead_letters(manager, self.name, before_ms)


@rich_click.group(epilog="Example: supervisor dead list --older 1h")
def dead() -> None:
    """List, show, retry and remove dead letters: tasks that failed at every attempt or ended too many workers."""


@dead.command("list", epilog="Example: supervisor dead list --name billing.send_statement --limit 20")
@name_option
@older_option
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Maximum number to list.")
@options.wide
@options.store
@options.pass_reading_session
def list_dead_letters(session: Session, /, name: str | None, older: float | None, limit: int) -> None:
    """List dead letters, newest first. With --json it prints one document per line."""

    async def look(manager: TaskManager) -> list[TaskRecord]:
        tasks: list[TaskRecord] = []
        async for task in Choice(name, older).dead_letters(manager):
            tasks.append(task)
            if len(tasks) == limit:
                break
        return tasks

    tasks = manage(session, look)
    if session.json:
        for task in tasks:
            output.line(task_documents.listed(task))
    else:
        now_ms = int(time.time() * 1000)
        table(COLUMNS, [_cells(each, now_ms) for each in tasks], FIT, wide=session.wide)


def _cells(task: TaskRecord, now_ms: int) -> tuple[object, ...]:
    ago = duration((now_ms - (task.finished_ms or now_ms)) / 1000)
    return (task.task_id, task.lane, ago, task.attempts, task.crashes, task.name, task.reason)


@dead.command(epilog="Example: supervisor dead show 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.store
@options.pass_reading_session
def show(session: Session, /, task_id: str) -> None:
    """Show a dead letter in full: its request, its last error with the traceback, its trail."""
    chosen = whole_id(session, task_id)
    task = manage(session, lambda manager: manager.get_task(chosen))
    if not task.dead:
        then = f"; it runs again as {task.retried_as}" if task.retried_as else ""
        raise CommandError(f"task {chosen} is not a dead letter; its state is {task.state}{then}")
    show_task(session, task)


@dead.command(
    epilog="Examples: supervisor dead retry 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; supervisor dead retry --all"
)
@ids_argument
@all_option
@name_option
@older_option
@click.option(
    "--reason", default=change_tasks.RETRY_REASON, show_default=True, help="Reason, kept in the task's trail."
)
@options.store
@options.pass_session
def retry(
    session: Session,
    /,
    task_ids: tuple[str, ...],
    all_of_them: bool,
    name: str | None,
    older: float | None,
    reason: str,
) -> int:
    """Run dead letters again, each as a new task TASK_ID.r1. They are then no longer dead letters."""
    choice = _choice(task_ids, all_of_them, name, older)
    chosen = whole_ids(session, task_ids)

    async def work(manager: TaskManager) -> list[change_tasks.Attempt]:
        return await change_tasks.retry_all(manager, await _chosen(manager, chosen, choice), reason)

    attempts = manage(session, work)
    change_tasks.show_attempts(session, attempts)
    if not task_ids:
        output.note(f"{sum(each.is_done for each in attempts)} of {len(attempts)} run again")
    return Exit.OK if all(each.is_done for each in attempts) else Exit.FAILED


@dead.command(epilog="Example: supervisor dead remove --older 7d --yes")
@ids_argument
@all_option
@name_option
@older_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@options.store
@options.pass_session
def remove(
    session: Session, /, task_ids: tuple[str, ...], all_of_them: bool, name: str | None, older: float | None, yes: bool
) -> int:
    """Delete dead letters with all their data. Without --yes it shows their number and asks."""
    choice = _choice(task_ids, all_of_them, name, older)
    chosen = list(dict.fromkeys(whole_ids(session, task_ids)))
    number = len(chosen) if yes else len(manage(session, lambda manager: _chosen(manager, chosen, choice)))
    if number:
        confirm(f"Delete {counted(number, 'dead letter')}?", "deleting dead letters cannot be undone", yes=yes)
    if choice is None:
        purged = converse(session, lambda store: _remove(store, session, chosen))
    else:
        which = {key: value for key, value in (("name", name), ("older", older)) if value is not None}
        purged = operate(session, REMOVE_ALL_DEAD, which, LONG_RETRIES)["purged"]
    if session.json:
        output.document({"purged": purged})
    else:
        output.text(f"{purged} deleted")
    return Exit.OK if choice is not None or purged == len(chosen) else Exit.FAILED


def _choice(task_ids: Sequence[str], all_of_them: bool, name: str | None, older: float | None) -> Choice | None:
    """The selection of the options; None if tasks are named by their ids."""
    filtered = all_of_them or name is not None or older is not None
    if bool(task_ids) == filtered:
        raise click.UsageError(f"TASK_ID and --all, --name, --older exclude each other: {WHICH}" if task_ids else WHICH)
    return Choice(name, older) if filtered else None


async def _chosen(manager: TaskManager, task_ids: Sequence[str], choice: Choice | None) -> list[str]:
    """The ids, all collected before the first is changed, since changes would shift the pages."""
    if choice is None:
        return list(dict.fromkeys(task_ids))
    return list(dict.fromkeys([task.task_id async for task in choice.dead_letters(manager)]))


async def _remove(store: Store, session: Session, ids: Sequence[str]) -> int:
    """The number of those that were deleted. Each refusal is told."""
    refused = 0
    for task_id in ids:
        try:
            await operate_in(store, session, REMOVE_DEAD, {"task_id": task_id})
        except UnknownTaskError as error:
            output.note(str(error))
            refused += 1
    return len(ids) - refused
