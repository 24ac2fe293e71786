"""`supervisor tasks cancel`, `pause` and `resume`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.client.queue_control import checked
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Retried
from holdfast.errors import (
    CannotRetryError,
    HoldfastError,
    InvalidTaskError,
    StoreError,
    TaskOpenError,
    UnknownTaskError,
)
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.parameter_types import DURATION, JSON
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, manage
from holdfastd.cli.common.task_id import TASK_ID, whole_ids
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.cli.tasks import bulk
from holdfastd.cli.tasks.bulk import chosen_filter, of_tasks

Order = Callable[[TaskManager, str], Awaitable[State]]

CANCELED = "canceled by an operator"
OPEN = frozenset(State) - TERMINAL
TAKEN = frozenset(State)  # an accepted message succeeds in any state: a worker may have ended the task already
TASK_IDS = click.argument("task_ids", nargs=-1, required=True, type=TASK_ID, metavar="TASK_ID...")


@dataclass(frozen=True, slots=True)
class ControlResult:
    """The result for one task: its state, `unknown` or `refused`; `why` is the reason of a refusal."""

    task_id: str
    state: str
    why: str = ""


@rich_click.command(
    epilog="Examples: supervisor tasks cancel 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; "
    "supervisor tasks cancel --lane mail --older 1d"
)
@of_tasks
@click.option("--reason", default=CANCELED, show_default=True, help="Reason, kept in the task's trail.")
@options.store
@options.pass_session
def cancel(session: Session, /, task_ids: tuple[str, ...], reason: str, **chosen: Any) -> int:
    """Cancel tasks that have not ended: those that are named, or all that a filter finds.

    A running handler is interrupted. A named task that does not exist yet is canceled if it is submitted within ten
    minutes. What a filter finds is counted first, and changed in steps that `supervisor tasks bulk` lists.
    """
    if found := chosen_filter(task_ids, chosen):
        return bulk.begin(session, BulkVerb.CANCEL, found, "" if reason == CANCELED else reason)
    return _carry_out(session, task_ids, lambda manager, each: manager.cancel_task(each, reason), {State.CANCELED})


@rich_click.command(epilog="Example: supervisor tasks pause 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@TASK_IDS
@click.option("--reason", default="paused by an operator", show_default=True, help="Reason, kept in the task's trail.")
@options.store
@options.pass_session
def pause(session: Session, /, task_ids: tuple[str, ...], reason: str) -> int:
    """Pause tasks that have not ended: a waiting task at once, a running one when its handler has stopped.

    The checkpoint is kept. The task continues when it is resumed or gets a message.
    """
    return _carry_out(session, task_ids, lambda manager, each: manager.pause_task(each, reason), OPEN)


@rich_click.command(epilog='Example: supervisor tasks resume b1 --text "on Friday"')
@TASK_IDS
@click.option("--text", help="Message for the task: an answer or further input.")
@click.option("--data", type=JSON, help="JSON value, as the message or a part of it.")
@click.option("--message-id", help="Id of the message. A new id sends the same content to a task again.")
@options.store
@options.pass_session
def resume(
    session: Session, /, task_ids: tuple[str, ...], text: str | None, data: object, message_id: str | None
) -> int:
    """Continue tasks that are paused or wait for input, optionally with a message."""
    is_message = text is not None or data is not None

    def continue_with(manager: TaskManager, task_id: str) -> Awaitable[State]:
        reason = "resumed by an operator"
        return manager.resume_task(task_id, text, data=data, message_id=message_id, reason=reason)

    return _carry_out(session, task_ids, continue_with, TAKEN if is_message else OPEN)


def _carry_out(session: Session, task_ids: Sequence[str], order: Order, wanted: Collection[str], /) -> int:
    """Each task by itself: a refusal for one does not affect the others."""

    chosen = whole_ids(session, task_ids)

    async def all_of_them(manager: TaskManager) -> list[ControlResult]:
        return [await _carry_out_one(manager, task_id, order) for task_id in chosen]

    done = manage(session, all_of_them)
    for each in done:
        _show(session, each)
    return Exit.OK if all(each.state in wanted for each in done) else Exit.FAILED


async def _carry_out_one(manager: TaskManager, task_id: str, order: Order) -> ControlResult:
    try:
        return ControlResult(task_id, str(await order(manager, task_id)))
    except (InvalidTaskError, StoreError):
        raise
    except UnknownTaskError:
        return ControlResult(task_id, "unknown")
    except HoldfastError as error:
        return ControlResult(task_id, "refused", str(error))


def _show(session: Session, each: ControlResult, /) -> None:
    if session.json:
        output.line({"task_id": each.task_id, "state": each.state} | ({"why": each.why} if each.why else {}))
    elif each.why:
        output.note(each.why)
    else:
        output.text(f"{each.task_id} {each.state}")


# `supervisor tasks remove` and `tasks clean`: delete tasks that have ended before --keep does.

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
        return bulk.begin(session, BulkVerb.REMOVE, found)
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


# Retries of tasks, for `tasks retry` and `dead retry`.

RETRY_REASON = "retried by an operator"
WORDS = {
    Retried.NEW: "runs again as {}",
    Retried.AGAIN: "was already retried as {}",
    Retried.DUE: "is due now",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result for one task: the task that runs, or None and the reason in `text`."""

    task_id: str
    word: str
    runs_as: str | None
    text: str

    @property
    def is_done(self) -> bool:
        return self.runs_as is not None


async def retry_all(manager: TaskManager, task_ids: Iterable[str], reason: str) -> list[Attempt]:
    """Each task by itself: a refusal for one does not affect the others."""
    return [await _retry(manager, task_id, reason) for task_id in task_ids]


async def _retry(manager: TaskManager, task_id: str, reason: str) -> Attempt:
    answer = await manager.ask_retry(task_id, reason)
    try:
        runs_as = checked(answer).task_id
    except (UnknownTaskError, CannotRetryError) as error:
        return Attempt(task_id, answer.word, None, str(error))
    return Attempt(task_id, answer.word, runs_as, f"{task_id} {WORDS[Retried(answer.word)].format(runs_as)}")


def show_attempts(session: Session, attempts: Iterable[Attempt], /) -> None:
    """Prints a line for each; refusals go to standard error."""
    for each in attempts:
        if session.json:
            output.line({"task_id": each.task_id, "answer": each.word, "runs_as": each.runs_as})
        elif each.is_done:
            output.text(each.text)
        else:
            output.note(each.text)
