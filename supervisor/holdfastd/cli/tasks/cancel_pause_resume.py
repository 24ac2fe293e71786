"""Orders to tasks: `supervisor tasks cancel`, `pause`, `resume`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.task_states import TERMINAL, State
from holdfast.errors import HoldfastError, InvalidTaskError, StoreError, UnknownTaskError
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import JSON
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.common.task_id import TASK_ID

Order = Callable[[TaskManager, str], Awaitable[State]]

OPEN = frozenset(State) - TERMINAL
TAKEN = frozenset(State)  # a message that is not refused was taken, and a worker may have ended its task by now
TASK_IDS = click.argument("task_ids", nargs=-1, required=True, type=TASK_ID, metavar="TASK_ID...")


@dataclass(frozen=True, slots=True)
class ControlResult:
    """What came of an order to one task: its state, `unknown` or `refused`; `why` where it was refused."""

    task_id: str
    state: str
    why: str = ""


@rich_click.command(epilog="Example: supervisor tasks cancel 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@TASK_IDS
@click.option("--reason", default="canceled by an operator", show_default=True, help="Kept in the task's trail.")
@options.store
@options.pass_session
def cancel(session: Session, /, task_ids: tuple[str, ...], reason: str) -> int:
    """Cancel tasks that have not ended; a running handler is interrupted.

    A task that is not known yet is canceled if it comes within ten minutes.
    """
    return _carry_out(session, task_ids, lambda manager, one: manager.cancel_task(one, reason), {State.CANCELED})


@rich_click.command(epilog="Example: supervisor tasks pause 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@TASK_IDS
@click.option("--reason", default="paused by an operator", show_default=True, help="Kept in the task's trail.")
@options.store
@options.pass_session
def pause(session: Session, /, task_ids: tuple[str, ...], reason: str) -> int:
    """Pause tasks that have not ended: one that waits at once, one that is working when its handler has stopped.

    Its checkpoint is kept; it goes on when it is resumed, or given a message.
    """
    return _carry_out(session, task_ids, lambda manager, one: manager.pause_task(one, reason), OPEN)


@rich_click.command(epilog='Example: supervisor tasks resume b1 --text "on Friday"')
@TASK_IDS
@click.option("--text", help="A message for the task: an answer, or further input.")
@click.option("--data", type=JSON, help="A JSON value, as the message or a part of it.")
@click.option("--message-id", help="The message's id; a new one, to say the same to a task once more.")
@options.store
@options.pass_session
def resume(
    session: Session, /, task_ids: tuple[str, ...], text: str | None, data: object, message_id: str | None
) -> int:
    """Let tasks go on that are paused or have asked for something, with a message if there is one to give."""
    is_message = text is not None or data is not None

    def go_on(manager: TaskManager, task_id: str) -> Awaitable[State]:
        reason = "resumed by an operator"
        return manager.resume_task(task_id, text, data=data, message_id=message_id, reason=reason)

    return _carry_out(session, task_ids, go_on, TAKEN if is_message else OPEN)


def _carry_out(session: Session, task_ids: Sequence[str], order: Order, wanted: Collection[str], /) -> int:
    """Each by itself: one that cannot be ordered does not keep out the others."""

    async def all_of_them(manager: TaskManager) -> list[ControlResult]:
        return [await _carry_out_one(manager, task_id, order) for task_id in task_ids]

    done = manage(session, all_of_them)
    for one in done:
        _show(session, one)
    return Exit.OK if all(one.state in wanted for one in done) else Exit.FAILED


async def _carry_out_one(manager: TaskManager, task_id: str, order: Order) -> ControlResult:
    try:
        return ControlResult(task_id, str(await order(manager, task_id)))
    except (InvalidTaskError, StoreError):
        raise
    except UnknownTaskError:
        return ControlResult(task_id, "unknown")
    except HoldfastError as error:
        return ControlResult(task_id, "refused", str(error))


def _show(session: Session, one: ControlResult, /) -> None:
    if session.json:
        output.line({"task_id": one.task_id, "state": one.state} | ({"why": one.why} if one.why else {}))
    elif one.why:
        output.note(one.why)
    else:
        output.text(f"{one.task_id} {one.state}")
