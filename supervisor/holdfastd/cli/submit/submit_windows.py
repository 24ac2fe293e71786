"""Submits tasks in windows of 500. With --wait, results are reported while later tasks are still submitted."""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from types import TracebackType

import anyio
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from holdfast.client.manager import TaskManager
from holdfast.client.submission import Draft
from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.progress import Progress
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted
from holdfast.errors import InvalidTaskError, StoreError, StoreRefusedError
from holdfast.why.outlook import waiting_reason
from holdfastd.cli.common import output
from holdfastd.cli.common.work_progress import TaskProgressLine, WorkRate
from holdfastd.cli.submit.task_sources import BadLineError, Item
from holdfastd.operations.submit_tasks import HandlerCalls, submit_window

WINDOW = 500  # tasks submitted, and then waited for, together
PLACES = 20  # pairs of lane and handler that are checked for workers, at most
WINDOWS = 8  # windows waited for at once, each with its own subscription
FAILURES = frozenset({State.FAILED, State.REJECTED, State.CANCELED})


@dataclass
class Tally:
    """Counts of the submitted tasks. `known`: accepted tasks that were submitted before, and not added again. `line`:
    the last line whose task was accepted; `first`: the id of the first task. `unfinished`: the ids of the tasks whose
    result had not come when the time to wait was over. `places`: the lanes and handlers already checked."""

    accepted: int = 0
    known: int = 0
    refused: int = 0
    unfit: int = 0  # refused tasks whose cause is the store
    settled: int = 0
    failed: int = 0
    line: int = 0
    first: str = ""
    unfinished: list[str] = field(default_factory=list[str])
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def upto(self) -> str:
        """A text that says up to which line the tasks were accepted, so that these lines need not be submitted again.
        Empty if no line's task was accepted."""
        if not self.line:
            return ""
        known = f"; {self.settled} settled" if self.settled else ""
        return f"all lines up to {self.line} were accepted ({counted(self.accepted, 'task')}), perhaps more{known}"


@dataclass(frozen=True, slots=True)
class SubmitListener:
    """The functions to call while tasks are submitted. `accepted` gets the receipts of accepted tasks, `settled` gets
    each result. If `settled` is None, nobody waits for results. `progressed` gets the progress of the task if the
    command waits for a single task. `seconds`: the time to wait for results, from the first accepted task; None: no
    limit."""

    accepted: Callable[[Sequence[Receipt]], None]
    settled: Callable[[TaskRecord], None] | None
    progressed: Callable[[Progress], None]
    seconds: float | None = None


Submitted = Callable[[BadLineError | None], Awaitable[None]]


async def submit_all(
    manager: TaskManager,
    calls: HandlerCalls,
    items: AsyncIterator[Sequence[Item]],
    listener: SubmitListener,
    tally: Tally,
    submitted: Submitted,
) -> BadLineError | None:
    """Submit all items and call `submitted`. Then wait for the results if `listener.settled` is set. Returns the error
    of the first line that is not a task; later lines are not submitted."""
    room, bad, deadline = anyio.Semaphore(WINDOWS), None, math.inf
    async with anyio.create_task_group() as waiters:
        try:
            async for chunk in items:
                for start in range(0, len(chunk), WINDOW):
                    ids = await _submit(manager, calls, chunk[start : start + WINDOW], listener, tally)
                    if listener.seconds is not None and deadline == math.inf:
                        deadline = anyio.current_time() + listener.seconds
                    if listener.settled:
                        await room.acquire()
                        waiters.start_soon(_wait, manager, ids, listener, tally, room, deadline)
        except BadLineError as error:
            bad = error
        await submitted(bad)
    return bad


async def _submit(
    manager: TaskManager, calls: HandlerCalls, window: Sequence[Item], listener: SubmitListener, tally: Tally
) -> list[str]:
    receipts: list[Receipt] = []
    new: list[Submission] = []
    drafts = [await _draft(manager, calls, item) for item in window]
    for each, answer, error in await submit_window(manager, drafts):
        if error:
            tally.refused += 1
            tally.unfit += isinstance(error, StoreRefusedError)
            output.note(str(error))
        else:
            receipts.append(answer)
            new += [each] if answer.accepted is Accepted.NEW else []
    tally.accepted += len(receipts)
    tally.first = tally.first or next((receipt.task_id for receipt in receipts), "")
    tally.known += sum(receipt.accepted is Accepted.DUPLICATE for receipt in receipts)
    tally.line = window[-1].number
    listener.accepted(receipts)
    await _warn(manager, new, tally)
    return list(dict.fromkeys(receipt.task_id for receipt in receipts))


async def _warn(manager: TaskManager, new: Sequence[Submission], tally: Tally) -> None:
    """Print a warning if no worker serves a lane and handler of these tasks. Each lane and handler is checked once."""
    for place in dict.fromkeys((each.lane, each.name) for each in new):
        if place not in tally.places and len(tally.places) < PLACES:
            tally.places.add(place)
            with suppress(StoreError):
                if why_not := waiting_reason(await manager.service(*place)):
                    output.note(f"warning: accepted tasks must wait: {why_not}")


async def _draft(manager: TaskManager, calls: HandlerCalls, item: Item) -> Draft:
    try:
        return manager.submitter.draft(await calls.fitted(item.spec))
    except InvalidTaskError as error:
        if item.number:
            raise BadLineError(item.number, error) from None
        raise


async def _wait(
    manager: TaskManager,
    ids: Sequence[str],
    listener: SubmitListener,
    tally: Tally,
    room: anyio.Semaphore,
    deadline: float,
) -> None:
    assert listener.settled
    left = dict.fromkeys(ids)
    with anyio.CancelScope(deadline=deadline):
        if tally.accepted == len(ids) == 1:
            async with aclosing(manager.progress(ids[0])) as shown:
                async for progress in shown:
                    listener.progressed(progress)
        async with aclosing(manager.wait_all(ids)) as records:
            async for record in records:
                tally.settled += 1
                tally.failed += record.state in FAILURES
                listener.settled(record)
                del left[record.task_id]
    tally.unfinished += left
    room.release()


# The progress of `submit` on standard error: a bar on a terminal, else a line from time to time.


class ProgressBar:
    """Shows how many tasks were accepted and, with `wait`, how many of them have settled; a context manager.

    `is_stream`: the tasks come from a file or a pipe. Without a terminal, lines are printed only for such a stream, or
    with `wait`.
    """

    def __init__(self, tally: Tally, *, wait: bool, is_stream: bool) -> None:
        self._tally = tally
        self._wait, self._is_stream = wait, is_stream
        self._accepted = WorkRate("task", "accepted")
        self._settled = WorkRate("task", "settled")
        self._of_task = TaskProgressLine()
        self._is_on = (wait or is_stream) and sys.stderr.isatty()
        self._is_above = self._is_on and sys.stdout.isatty()  # read before the bar replaces the stream
        settled = [BarColumn(), MofNCompleteColumn()] if wait else []
        columns = (TextColumn("{task.description}"), *settled, TimeElapsedColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True, disable=not self._is_on)
        self._task = self._bar.add_task("", total=None)

    def show(self) -> None:
        """Show the present counts."""
        if self._is_on:
            total = self._tally.accepted if self._wait else None
            text = self._accepted.text(self._tally.accepted) if self._is_stream else "tasks"
            self._bar.update(self._task, description=text, completed=self._tally.settled, total=total)
        elif line := self._line():
            output.note(line)

    def show_progress(self, progress: Progress) -> None:
        """Show the progress of the task, if the command has submitted only one."""
        if self._is_on:
            text, done = progress.text or "task", progress.done or 0
            self._bar.update(self._task, description=text, completed=done, total=progress.total)
        else:
            self._of_task.show(progress)

    def _line(self) -> str:
        if self._wait:
            self._settled.total = self._tally.accepted
            return self._settled.line(self._tally.settled)
        return self._accepted.line(self._tally.accepted) if self._is_stream else ""

    def print(self, line: str) -> None:
        """Print a line on standard output, above the bar if both are on the same terminal."""
        if self._is_above:
            self._bar.console.print(Text(line), soft_wrap=True)
        else:
            click.echo(line)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
