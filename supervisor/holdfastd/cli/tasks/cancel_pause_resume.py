"""`supervisor tasks cancel`, `pause` and `resume`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.task_states import TERMINAL, State
from holdfast.errors import HoldfastError, InvalidTaskError, StoreError, UnknownTaskError
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import JSON
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.common.task_id import TASK_ID
from holdfastd.cli.common.whole_ids import whole_ids
from holdfastd.cli.tasks import bulk_run
from holdfastd.cli.tasks.task_choice import chosen_filter, of_tasks

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
        return bulk_run.begin(session, BulkVerb.CANCEL, found, "" if reason == CANCELED else reason)
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
