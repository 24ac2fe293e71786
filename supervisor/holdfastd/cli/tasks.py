"""`supervisor tasks`: list, show, cancel, retry and count them."""

from __future__ import annotations

import time

import click
import rich_click

from holdfast.core.records import TaskRecord
from holdfast.core.states import State
from holdfast.errors import UnknownTaskError
from holdfast.exits import Exit
from holdfast.manager import TaskManager
from holdfastd.cli import options, output, records, retrying
from holdfastd.cli.completing import TASK_ID
from holdfastd.cli.session import Session
from holdfastd.cli.storing import ask, manage
from holdfastd.cli.tables import table

PAGE = 100  # tasks asked for at once
STATE = click.Choice([str(state) for state in State])


@rich_click.group(epilog="Example: supervisor tasks list --state working")
def tasks() -> None:
    """List, show, cancel, retry and count tasks."""


@tasks.command("list", epilog="Example: supervisor tasks list --state failed --limit 20")
@click.option("--state", "states", type=STATE, multiple=True, help="Only tasks in this state; may be repeated.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="The most tasks to list.")
@options.store
@options.pass_session
def list_tasks(session: Session, /, states: tuple[str, ...], limit: int) -> None:
    """List tasks, with --json one document a line."""

    async def look(manager: TaskManager) -> list[TaskRecord]:
        found: list[TaskRecord] = []
        page = await manager.list_tasks(*states, limit=min(limit, PAGE))
        found += page.tasks
        while page.cursor and len(found) < limit:
            page = await manager.list_tasks(*states, limit=min(limit - len(found), PAGE), cursor=page.cursor)
            found += page.tasks
        return found

    found = manage(session, look)
    if session.json:
        for task in found:
            output.line(records.listed(task))
    else:
        now_ms = int(time.time() * 1000)
        table(records.COLUMNS, [records.summary(task, now_ms) for task in found])


@tasks.command(epilog="Example: supervisor tasks show 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.store
@options.pass_session
def show(session: Session, /, task_id: str) -> None:
    """Show all that is known of one task: counts, result, last error, and its trail."""
    task = manage(session, lambda manager: manager.get_task(task_id))
    if session.json:
        output.document(records.whole(task))
    else:
        describe(task)


@tasks.command(epilog="Example: supervisor tasks cancel 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_ids", nargs=-1, required=True, type=TASK_ID, metavar="TASK_ID...")
@click.option("--reason", default="canceled by an operator", show_default=True, help="Kept in the task's trail.")
@options.store
@options.pass_session
def cancel(session: Session, /, task_ids: tuple[str, ...], reason: str) -> int:
    """Cancel tasks that have not ended; a running handler is interrupted."""

    async def end(manager: TaskManager) -> dict[str, str]:
        return {task_id: await _cancel(manager, task_id, reason) for task_id in task_ids}

    states = manage(session, end)
    for task_id, state in states.items():
        if session.json:
            output.line({"task_id": task_id, "state": state})
        else:
            output.text(f"{task_id} {state}")
    return Exit.OK if set(states.values()) == {State.CANCELED} else Exit.FAILED


async def _cancel(manager: TaskManager, task_id: str, reason: str) -> str:
    """The state afterwards, or `unknown`: the other tasks are still to be canceled."""
    try:
        return str(await manager.cancel_task(task_id, reason))
    except UnknownTaskError:
        return "unknown"


@tasks.command(epilog="Example: supervisor tasks retry 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_ids", nargs=-1, required=True, type=TASK_ID, metavar="TASK_ID...")
@click.option("--reason", default=retrying.REASON, show_default=True, help="Kept in the task's trail.")
@options.store
@options.pass_session
def retry(session: Session, /, task_ids: tuple[str, ...], reason: str) -> int:
    """Run tasks once more that failed, were rejected or canceled; those that wait for a retry run now.

    What has ended stays as it is: a new task, TASK_ID.r1, runs what it was asked. Retrying twice makes one.
    """
    attempts = manage(session, lambda manager: retrying.retry_all(manager, task_ids, reason))
    retrying.show(session, attempts)
    return Exit.OK if all(one.is_done for one in attempts) else Exit.FAILED


@tasks.command(epilog="Example: supervisor tasks count --json")
@options.store
@options.pass_session
def count(session: Session, /) -> None:
    """Count tasks by state."""
    counts = ask(session, lambda store: store.counts())
    states = {str(state): n for state, n in counts.states.items()} | {"dead letters": counts.dead}
    if session.json:
        output.document(states)
    else:
        table(("state", "tasks"), list(states.items()))


def describe(task: TaskRecord) -> None:
    for name, value in records.whole(task).items():
        if name not in {"trail", "error"} and value not in (None, "", False, []):
            output.text(f"{name.replace('_', ' '):<12} {output.readable(value)}", keep=output.LINE_END)
    for line in records.failure(task):
        output.text(line)
    output.text("trail")
    for entry in task.trail:
        at, _, event = entry.partition(" ")
        output.text(f"  {records.moment(int(at)) if at.isdigit() else at}  {event}")
