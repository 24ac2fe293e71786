"""`supervisor tasks list`: its filters, and the pages it asks for."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.common.tables import table
from holdfastd.cli.views import task_views
from holdfastd.documents import task_documents

PAGE = 100  # tasks read at once
STATE = click.Choice([str(state) for state in State])

EXAMPLES = """Examples:

supervisor tasks list --state failed --newer 1h

supervisor tasks list --lane high --name billing.send_statement --limit 20

supervisor tasks list --state failed --text 'is not known'"""


@rich_click.command("list", epilog=EXAMPLES)
@click.option("--state", "states", type=STATE, multiple=True, help="Only tasks in this state (repeatable).")
@click.option("--lane", help="Only tasks of this lane.")
@click.option("--name", help="Only tasks of the handler with this name.")
@click.option(
    "--text", help="Only tasks with this text in their id, handler's name, reason, arguments, result or error."
)
@click.option("--batch", help="Only tasks of this batch.")
@click.option("--owner", help="Only tasks that this worker (its incarnation) runs.")
@click.option("--newest-first", is_flag=True, help="Within each state the last tasks first.")
@click.option("--older", "older_than", type=DURATION, help="Only tasks accepted at least this long ago: 90s, 5m, 7d.")
@click.option("--newer", "newer_than", type=DURATION, help="Only tasks accepted at most this long ago.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Maximum number of tasks.")
@click.option("--cursor", default="", help="Continue after an earlier list: the cursor that it printed.")
@options.wide
@options.store
@options.pass_reading_session
def list_tasks(
    session: Session, /, states: tuple[str, ...], text: str | None, limit: int, cursor: str, **wanted: Any
) -> None:
    """List tasks: first running ones, then waiting, delayed and paused ones, then ended ones, the latest first.

    A text is searched for in steps that do not hold up others; upper and lower case do not matter.
    With --json it prints one document per line. If there are more tasks, standard error has the cursor to continue.
    """

    unreadable: list[str] = []

    async def look(manager: TaskManager) -> tuple[list[TaskRecord], str]:
        tasks: list[TaskRecord] = []
        place = cursor
        while True:
            left = min(limit - len(tasks), PAGE)
            read = manager.list_tasks if text is None else partial(manager.search_tasks, text)
            page = await read(*states, **wanted, limit=left, cursor=place)
            tasks += page.tasks
            unreadable.extend(page.unreadable)
            place = page.cursor
            if not place or len(tasks) >= limit:
                return tasks, place

    tasks, more = manage(session, look)
    if session.json:
        for task in tasks:
            output.line(task_documents.listed(task))
    else:
        now_ms = int(time.time() * 1000)
        table(
            task_views.COLUMNS, [task_views.summary(task, now_ms) for task in tasks], task_views.FIT, wide=session.wide
        )
    if unreadable:
        output.note(f"records that cannot be read: {', '.join(unreadable)} (`supervisor tasks show ID` says why)")
    if more:
        output.note(f"there are more: --cursor {more}")
