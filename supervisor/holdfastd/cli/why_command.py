"""`supervisor why`: the history of a task, its present state, and what will happen next."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from holdfast.client.arguments import check_id
from holdfast.why import history, task_spans
from holdfast.why.document import commands, document, parent_words, rows, times, words
from holdfast.why.gather import gather
from holdfast.why.outlook import TaskSnapshot, outlook
from holdfast.why.times import moment
from holdfastd.cli.common import Session, options, output, tables
from holdfastd.cli.common.store_session import Store, ask
from holdfastd.cli.common.task_id import TASK_ID, whole_id
from holdfastd.control.client import status_or_none
from holdfastd.control.socket_protocol import SupervisorStatus

STATUS_TIMEOUT = 1.0  # seconds to wait for the supervisor; without its answer the rest is shown


@options.command(epilog="Example: supervisor why 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.reading
def why(session: Session, /, task_id: str) -> None:
    """Show the history of a task, how long it waited and ran, its state, what will happen next, and what you can do.

    Times are in UTC, each with the time since the line before. The maximum number of attempts, and the time for which
    an ended task is kept, come from the running workers. If no worker runs, they come from the settings of this
    command.
    """
    chosen = whole_id(session, task_id)
    snapshot, known = ask(session, partial(_story, session, check_id(chosen)))
    if session.json:
        output.document(document(snapshot, known, _spans(session, snapshot)))
    else:
        for line in _lines(session, snapshot, known):
            output.hint(line)


async def lines(session: Session, task_id: str, store: Store, /) -> list[str]:
    """The history of a task, as the command prints it. Raises UnknownTaskError."""
    return _lines(session, *await _story(session, task_id, store))


async def _story(session: Session, task_id: str, store: Store, /) -> tuple[TaskSnapshot, history.TaskHistory]:
    snapshot, workers = await gather(store, session.settings.queue_name, task_id, session.settings)
    here = await status_or_none(session.runtime_dir, STATUS_TIMEOUT)
    snapshot = replace(snapshot, held_back=here.quarantine.held_back if here else "")
    return snapshot, history.TaskHistory(workers, _deaths(here), history.events_of(snapshot.steps))


def _deaths(here: SupervisorStatus | None) -> dict[str, int]:
    """When workers died, as the supervisor of this host knows it: incarnation to Unix time in milliseconds."""
    return {each.incarnation: round(each.at * 1000) for each in here.deaths.recent} if here else {}


def _lines(session: Session, snapshot: TaskSnapshot, known: history.TaskHistory, /) -> list[str]:
    return [
        f"task {snapshot.task.task_id}{f' ({snapshot.task.name})' if snapshot.task.name else ''}",
        *tables.aligned([(moment(at), since, what) for at, since, what, _ in rows(snapshot, known)], right={1}),
        f"times: {words(times(snapshot))}",
        *task_spans.words(_spans(session, snapshot)),
        *([f"parents: {parent_words(snapshot.after)}"] if snapshot.after else []),
        f"now: {outlook(snapshot)}",
        f"you can: {'; '.join(commands(snapshot.task))}",
    ]


def _spans(session: Session, snapshot: TaskSnapshot, /) -> list[task_spans.SpanDocument]:
    return task_spans.task_spans(snapshot.task, snapshot.steps, task_spans.tracing_of(session.settings))
