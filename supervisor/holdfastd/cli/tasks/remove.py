"""`supervisor tasks remove` and `tasks clean`: delete tasks that have ended before --keep does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.task_states import TERMINAL
from holdfast.errors import TaskOpenError, UnknownTaskError
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, manage
from holdfastd.cli.common.whole_ids import whole_ids
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.cli.tasks import bulk_run
from holdfastd.cli.tasks.task_choice import chosen_filter, of_tasks

ENDED = click.Choice(sorted(map(str, TERMINAL)))


@rich_click.command(
    epilog="Examples: supervisor tasks remove 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; "
    "supervisor tasks remove --name billing.send_statement --text 'is not known'"
)
@of_tasks
@options.store
@options.pass_session
def remove(session: Session, /, task_ids: tuple[str, ...], **chosen: Any) -> int:
    """Delete tasks that have ended, with all their data: those that are named, or all that a filter finds.

    Cancel a task first if it has not ended. What a filter finds is counted first, and removed in steps that
    `supervisor tasks bulk` lists; `supervisor tasks clean` removes by the time of the end.
    """
    if found := chosen_filter(task_ids, chosen):
        return bulk_run.begin(session, BulkVerb.REMOVE, found)
    named = whole_ids(session, task_ids)

    async def work(manager: TaskManager) -> list[tuple[str, str]]:
        return [await _remove(manager, task_id) for task_id in named]

    done = manage(session, work)
    for task_id, why in done:
        if session.json:
            output.line({"task_id": task_id, "removed": not why} | ({"why": why} if why else {}))
        elif why:
            output.note(why)
        else:
            output.text(f"{task_id} removed")
    return Exit.FAILED if any(why for _, why in done) else Exit.OK


async def _remove(manager: TaskManager, task_id: str) -> tuple[str, str]:
    """The id, and the reason if the task was not removed."""
    try:
        await manager.remove_task(task_id)
    except (TaskOpenError, UnknownTaskError) as error:
        return task_id, str(error)
    return task_id, ""


@rich_click.command(epilog="Example: supervisor tasks clean --state completed --older 1d --yes")
@click.option(
    "--state", "states", type=ENDED, multiple=True, help="Only tasks in this final state (repeatable). Default: all."
)
@click.option(
    "--older",
    "older_than",
    type=DURATION,
    default=0.0,
    help="Only tasks that ended at least this long ago: 90s, 5m, 7d.",
)
@click.option("--lane", help="Only tasks of this lane.")
@click.option("--name", help="Only tasks of the handler with this name.")
@click.option("--limit", type=click.IntRange(1, 10_000), help="Maximum number of tasks, the latest first.", metavar="N")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@options.store
@options.pass_session
def clean(
    session: Session,
    /,
    states: Sequence[str],
    older_than: float,
    lane: str | None,
    name: str | None,
    limit: int | None,
    yes: bool,
) -> None:
    """Delete tasks that have ended, with all their data. Other tasks are not touched."""
    confirm("Delete the tasks that have ended?", "deleting tasks cannot be undone", yes=yes)

    async def work(manager: TaskManager) -> int:
        most = limit if older_than or lane or name else await _ended(manager, states, limit)
        with WorkProgress("task", "removed", most) as progress:
            chosen: dict[str, Any] = {"older_than": older_than, "lane": lane, "name": name, "limit": limit}
            return await manager.clean_tasks(*states, **chosen, on_step=progress.show)

    removed = manage(session, work, LONG_RETRIES)
    if session.json:
        output.document({"removed": removed})
    else:
        output.text(f"{removed} removed")


async def _ended(manager: TaskManager, states: Sequence[str], limit: int | None) -> int:
    """The number of tasks in these final states (none: in any), at most `limit`."""
    ended = await manager.count_tasks(*(states or TERMINAL))
    return ended if limit is None else min(ended, limit)
