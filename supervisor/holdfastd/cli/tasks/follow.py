"""`supervisor tasks follow`: the parts that a task emits, as they come."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.client.query import NOT_COMPLETED
from holdfast.core.emitted_parts import EmittedPart
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, manage
from holdfastd.cli.common.task_id import TASK_ID, whole_id
from holdfastd.documents import times

KEPT = "\n\t"  # of the control characters in a text


@rich_click.command(epilog="Example: supervisor tasks follow 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@click.option(
    "--after",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="POSITION",
    help="Position of the last part that was read: go on behind it.",
)
@options.store
@options.pass_session
def follow(session: Session, /, task_id: str, after: int) -> int:
    """Print the parts that a task emits, as they come, until it has ended or asks for input.

    Texts are printed one after the other, as a model answers; other values on lines of their own. The parts that were
    emitted before are printed first, as far as they are kept. With --json each part is a document with its run and its
    position. Exit status 1 if the task failed, was rejected or was canceled.
    """
    chosen, printer = whole_id(session, task_id), PartPrinter(session, after)

    async def work(manager: TaskManager) -> TaskRecord:
        async with aclosing(manager.stream(chosen, after=after)) as parts:
            async for part in parts:
                printer.print(part)
        return await manager.get_task(chosen)

    try:
        task = manage(session, work, LONG_RETRIES)
    finally:
        printer.end_line()
    if task.state is not State.COMPLETED:
        output.note(f"task {task.task_id} is {task.state}" + (f": {task.reason}" if task.reason else ""))
    return Exit.FAILED if task.state in NOT_COMPLETED else Exit.OK


@dataclass(slots=True)
class PartPrinter:
    """`position`: that of the last part; `run`: its run, 0 before the first one; `is_open`: a line has begun."""

    session: Session
    position: int
    run: int = 0
    is_open: bool = False

    def print(self, part: EmittedPart) -> None:
        if self.session.json:
            fields = {"position": part.position, "run": part.run, "at": times.moment(part.at_ms)}
            output.line(fields | {"value": part.value})
            return
        self._remark(part)
        if isinstance(part.value, str):
            output.piece(output.safe(part.value, KEPT))
            self.is_open = not part.value.endswith("\n") if part.value else self.is_open
        else:
            self.end_line()
            output.text(output.readable(part.value))

    def end_line(self) -> None:
        if self.is_open:
            output.piece("\n")
            self.is_open = False

    def _remark(self, part: EmittedPart) -> None:
        """Say that parts are missing, or that the task runs again."""
        if part.position > self.position + 1:
            self.end_line()
            output.note(f"parts {self.position + 1} to {part.position - 1} are not kept any more")
        if self.run and part.run != self.run:
            self.end_line()
            output.note(f"run {part.run} begins; the parts before are of run {self.run}")
        self.position, self.run = part.position, part.run
