"""`supervisor tasks`: the group of its commands, with `show`, `retry` and `count`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import rich_click

from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.result_document import ParentResult
from holdfast.core.tasks import TaskRecord
from holdfast.exits import Exit
from holdfast.store.results_of_parents import results_of_parents
from holdfast.why.document import parent_documents, parent_words
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask, manage
from holdfastd.cli.common.tables import table
from holdfastd.cli.common.task_id import TASK_ID, whole_id, whole_ids
from holdfastd.cli.tasks import change_tasks
from holdfastd.cli.tasks.bulk import begin, bulk, chosen_filter, of_tasks
from holdfastd.cli.tasks.change_tasks import cancel, clean, pause, remove, resume
from holdfastd.cli.tasks.follow import follow
from holdfastd.cli.tasks.list_tasks import list_tasks
from holdfastd.cli.views import task_views
from holdfastd.documents import task_documents, times


@rich_click.group(epilog="Example: supervisor tasks list --state working")
def tasks() -> None:
    """List, show, follow, cancel, pause, resume, retry, count and remove tasks."""


for command in (list_tasks, follow, cancel, pause, resume, remove, clean, bulk):
    tasks.add_command(command)


@tasks.command(epilog="Example: supervisor tasks show 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.store
@options.pass_reading_session
def show(session: Session, /, task_id: str) -> None:
    """Show one task in full: its counts, result, last error and trail."""
    chosen = whole_id(session, task_id)
    task = manage(session, lambda manager: manager.get_task(chosen))
    show_task(session, task)


@tasks.command(
    epilog="Examples: supervisor tasks retry 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; "
    "supervisor tasks retry --state failed --newer 1h"
)
@of_tasks
@click.option(
    "--reason", default=change_tasks.RETRY_REASON, show_default=True, help="Reason, kept in the task's trail."
)
@options.store
@options.pass_session
def retry(session: Session, /, task_ids: tuple[str, ...], reason: str, **chosen: Any) -> int:
    """Run tasks again that failed, were rejected or were canceled: those that are named, or all that a filter finds.

    A task that waits for a retry runs now. A task that has ended stays as it is; a new task TASK_ID.r1 runs the same
    request. A second retry adds no second task. What a filter finds is counted first, and retried in steps that
    `supervisor tasks bulk` lists.
    """
    if found := chosen_filter(task_ids, chosen):
        return begin(session, BulkVerb.RETRY, found, "" if reason == change_tasks.RETRY_REASON else reason)
    named = whole_ids(session, task_ids)
    attempts = manage(session, lambda manager: change_tasks.retry_all(manager, named, reason))
    change_tasks.show_attempts(session, attempts)
    return Exit.OK if all(each.is_done for each in attempts) else Exit.FAILED


@tasks.command(epilog="Example: supervisor tasks count --json")
@options.store
@options.pass_reading_session
def count(session: Session, /) -> None:
    """Count tasks by state."""
    counts = task_documents.task_counts(ask(session, lambda store: store.counts()))
    if session.json:
        output.document(counts)
    else:
        table(("state", "tasks"), list(counts.items()))


def show_task(session: Session, task: TaskRecord, /) -> None:
    """Print a task in full, with the states of the tasks that it was submitted after."""
    parents = _parents(session, task)
    if session.json:
        output.document(task_documents.whole(task) | {"parents": parent_documents(parents)})
    else:
        describe(task, parents)


def _parents(session: Session, task: TaskRecord, /) -> Sequence[ParentResult]:
    if not task.if_parent_fails:
        return ()
    return tuple(ask(session, lambda store: results_of_parents(store, task.task_id, 0)).values())


def describe(task: TaskRecord, parents: Sequence[ParentResult]) -> None:
    for name, value in task_documents.whole(task).items():
        if name not in {"trail", "error"} and value not in (None, "", False, []):
            output.text(f"{name.replace('_', ' '):<12} {output.readable(value)}", keep=output.LINE_END)
    if parents:
        output.text(f"parents      {parent_words(parents)}")
    for line in task_views.failure(task):
        output.text(line)
    output.text("trail")
    for entry in task.trail:
        at, _, event = entry.partition(" ")
        output.text(f"  {times.moment(int(at)) if at.isdigit() else at}  {event}")
