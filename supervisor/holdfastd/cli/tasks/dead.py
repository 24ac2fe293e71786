"""`supervisor dead`: lists, shows, retries and deletes dead letters, the tasks that failed for good."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from holdfast.client.manager import TaskManager
from holdfast.client.task_filter import age_ms
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted, duration
from holdfast.errors import CannotRetryError
from holdfast.exits import Exit
from holdfastd.cli.common import CommandError, Session, options, output, parameters, store_session, tables
from holdfastd.cli.common.store_session import arguments_of, converse, given_of, manage, operate
from holdfastd.cli.common.task_id import TASK_ID, whole_id, whole_ids
from holdfastd.cli.tasks.change_tasks import change, show_retry
from holdfastd.cli.tasks.list_and_show import show_task
from holdfastd.documents import task_documents
from holdfastd.operations.dead import REMOVE_ALL_DEAD, REMOVE_DEAD, RETRY_ALL_DEAD, RemoveAllDead, dead_letters
from holdfastd.operations.tasks import RETRY_TASK

WHICH = "name the dead letters by TASK_ID, or select them with --all, --name, --error or --older"

RETRY_OF_ALL = "retry of all dead letters that a filter finds"

COLUMNS = ("task", "lane", "dead for", "attempts", "crashes", "name", "reason")
FIT = tables.TableFit(("task",), ("reason", "name"), drop=("crashes", "attempts", "lane", "name", "dead for"))

filter_options = arguments_of(REMOVE_ALL_DEAD)
all_option = click.option(
    "--all", "all_of_them", is_flag=True, help="All dead letters, or all that match the other options."
)
ids_argument = click.argument("task_ids", nargs=-1, type=TASK_ID, metavar="[TASK_ID...]")


@options.group(epilog="Example: supervisor dead list --older 1h")
def dead() -> None:
    """List, show, retry and remove dead letters: tasks that failed at every attempt or ended too many workers."""


@dead.command("list", epilog="Example: supervisor dead list --name billing.send_statement --limit 20")
@filter_options
@parameters.limit_option(None, "Maximum number of dead letters to list.")
@options.listing
def list_dead_letters(session: Session, /, name: str | None, error: str | None, older: str | None, limit: int) -> None:
    """List dead letters, newest first. With --json it prints one document per line."""

    tasks = manage(session, lambda manager: _found(manager, name, older, error, limit))
    if not tasks:
        converse(session, lambda store: store_session.note_unknown(store, session, RemoveAllDead(name)))
    now_ms = int(time.time() * 1000)
    tables.answer_lines(
        session, map(task_documents.listed, tasks), COLUMNS, (_cells(each, now_ms) for each in tasks), FIT
    )


def _cells(task: TaskRecord, now_ms: int) -> tuple[object, ...]:
    ago = duration((now_ms - (task.finished_ms or now_ms)) / 1000)
    return (task.task_id, task.lane, ago, task.attempts, task.crashes, task.name, task.reason)


@dead.command(epilog="Example: supervisor dead show 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.reading
def show(session: Session, /, task_id: str) -> None:
    """Show a dead letter in full: its request, its last error with the traceback, its trail."""
    chosen = whole_id(session, task_id)
    task = manage(session, lambda manager: manager.get_task(chosen))
    if not task.dead:
        then = f"; it runs again as {task.retried_as}" if task.retried_as else ""
        raise CommandError(f"task {chosen} is not a dead letter; its state is {task.state}{then}")
    show_task(session, task)


@dead.command(
    epilog="Examples: supervisor dead retry 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; supervisor dead retry --all; "
    "supervisor dead retry --error 0b1c6a5e92d4 --yes"
)
@ids_argument
@all_option
@filter_options
@arguments_of(RETRY_ALL_DEAD, ("name", "error", "older"))
@parameters.yes_option
@options.changing
def retry(
    session: Session,
    /,
    task_ids: tuple[str, ...],
    all_of_them: bool,
    name: str | None,
    error: str | None,
    older: str | None,
    reason: str | None,
    yes: bool,
) -> int:
    """Run dead letters again, each as a new task TASK_ID.r1 (or .r2 …). The old tasks are then no longer dead letters.
    Without TASK_ID and --yes it shows their number and asks."""
    if not _is_filtered(task_ids, all_of_them, name, error, older):
        return change(session, RETRY_TASK, task_ids, given_of({"reason": reason}), show_retry)
    if not yes:
        number = len(manage(session, lambda manager: _found(manager, name, older, error)))
        parameters.confirm(f"Retry {counted(number, 'dead letter')}?", RETRY_OF_ALL, yes=not number)
    which = given_of({"name": name, "error": error, "older": older, "reason": reason})
    answer = operate(session, RETRY_ALL_DEAD, which, store_session.LONG_RETRIES)
    for each in answer["retried"]:
        show_retry(session, each["task_id"], each)
    for task_id, why in answer["refused"].items():
        show_retry(session, task_id, CannotRetryError(why))
    done, refused = len(answer["retried"]), len(answer["refused"])
    output.note(f"{done} of {done + refused} run again")
    return Exit.FAILED if refused else Exit.OK


@dead.command(
    epilog="Examples: supervisor dead remove --older 7d --yes; supervisor dead remove --error 0b1c6a5e92d4 --yes"
)
@ids_argument
@all_option
@filter_options
@parameters.yes_option
@options.changing
def remove(
    session: Session,
    /,
    task_ids: tuple[str, ...],
    all_of_them: bool,
    name: str | None,
    error: str | None,
    older: str | None,
    yes: bool,
) -> int:
    """Delete dead letters with all their data. Without --yes it shows their number and asks."""
    is_filtered = _is_filtered(task_ids, all_of_them, name, error, older)
    chosen = list(dict.fromkeys(whole_ids(session, task_ids)))
    number = len(chosen)
    if is_filtered and not yes:
        number = len(manage(session, lambda manager: _found(manager, name, older, error)))
    if number:
        parameters.confirm(
            f"Delete {counted(number, 'dead letter')}?", "deleting dead letters cannot be undone", yes=yes
        )
    if is_filtered:
        given = given_of({"name": name, "error": error, "older": older})
        purged = operate(session, REMOVE_ALL_DEAD, given, store_session.LONG_RETRIES)["purged"]
        return store_session.print_purged(session, purged, ())
    done = converse(session, lambda store: store_session.operate_each(store, session, REMOVE_DEAD, chosen))
    refused = store_session.refusals(done)
    return store_session.print_purged(session, len(chosen) - len(refused), refused)


def _is_filtered(task_ids: Sequence[str], all_of_them: bool, *others: object) -> bool:
    """False if dead letters are named by their ids. Raises UsageError if ids and a filter are given, or neither."""
    filtered = all_of_them or any(other is not None for other in others)
    if bool(task_ids) == filtered:
        raise click.UsageError(
            f"TASK_ID and --all, --name, --error, --older exclude each other: {WHICH}" if task_ids else WHICH
        )
    return filtered


async def _found(
    manager: TaskManager, name: str | None, older: str | None, error: str | None, most: int | None = None
) -> list[TaskRecord]:
    """Dead letters, newest first."""
    age = age_ms("older", older)
    before_ms = None if age is None else round(time.time() * 1000) - age
    tasks = list[TaskRecord]()
    async for task in dead_letters(manager, name, before_ms, error):
        tasks.append(task)
        if len(tasks) == most:
            break
    return tasks
