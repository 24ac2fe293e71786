"""`supervisor tasks`: the group of its commands, with `list`, `show` and `count`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import anyio
import click

from holdfast.client.manager import TaskManager
from holdfast.client.query import NOT_COMPLETED
from holdfast.client.task_filter import TaskListing
from holdfast.core.delivery import EmittedPart
from holdfast.core.error_kinds import ErrorKind
from holdfast.core.outcomes import ParentResult, read_result
from holdfast.core.progress import Progress
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted, duration
from holdfast.exits import Exit
from holdfast.why.document import parent_documents, parent_words
from holdfastd.cli.common import Session, options, output, parameters, tables
from holdfastd.cli.common.store_session import (
    LONG_RETRIES,
    Store,
    ask,
    converse,
    given_of,
    manage,
    manager_of,
    note_unknown,
    retries_of,
)
from holdfastd.cli.common.task_id import TASK_ID, whole_id
from holdfastd.cli.common.work_progress import TaskProgressLine
from holdfastd.cli.tasks.bulk import bulk, filter_options, redaction_of
from holdfastd.cli.tasks.change_tasks import cancel, clean, pause, remove, resume, retry
from holdfastd.documents import printed_times, task_documents
from holdfastd.documents.queue_documents import error_kind_document
from holdfastd.documents.task_list import (
    TASK_COLUMNS,
    Hide,
    TaskCall,
    TaskRow,
    call_of,
    chosen_columns,
    first_call,
    read_rows,
)
from holdfastd.operations.reading import read_texts

# `supervisor tasks list`: its filters, and the pages it asks for.

PAGE = 100  # tasks read at once

FIT = tables.TableFit(
    ids=("task",),
    texts=("arguments", "reason", "progress", "handler"),
    drop=("wait", "runs", "lane", "age", "duration", "reason", "arguments", "handler"),
)

EXAMPLES = """Examples:

supervisor tasks list --state failed --newer 1h

supervisor tasks list --lane high --name billing.send_statement --limit 20

supervisor tasks list --state failed --text 'is not known'

supervisor tasks list --state working --columns task,arguments,duration,worker"""


@options.command("list", epilog=EXAMPLES)
@filter_options(TaskListing)
@parameters.limit_option(None, "Maximum number of tasks.")
@click.option("--cursor", default="", help="Continue after an earlier list: the cursor that it printed.")
@click.option("--columns", metavar="NAME,...", help=f"Columns of the table: {', '.join(TASK_COLUMNS)}.")
@options.listing
def list_tasks(session: Session, /, limit: int, cursor: str, columns: str | None, **chosen: Any) -> None:
    """List tasks: first running ones, then waiting, delayed and paused ones, then ended ones, the latest first.

    The table shows the arguments in brief, and *** for the values of secret fields. --text ignores upper and lower
    case. The search runs in small steps, so that it does not hold up other users of the store. With --json the command
    prints one document per line. If there are more tasks, it prints the cursor to continue on standard error.
    """
    given, shown = read_texts(given_of(chosen), TaskListing), chosen_columns([columns or ""])
    hide, unreadable = redaction_of(session).value, list[str]()

    async def look(store: Store) -> tuple[list[TaskRecord], list[TaskRow], str]:
        manager = manager_of(store, session.settings, retries_of(session.settings))
        tasks: list[TaskRecord] = []
        place = cursor
        while True:
            left = min(limit - len(tasks), PAGE)
            page = await manager.find(given, left, place, newest_first=given.newest_first)
            tasks += page.tasks
            unreadable.extend(page.unreadable)
            place = page.cursor
            if not (tasks or place):
                await note_unknown(store, session, given)
            if not place or len(tasks) >= limit:
                return tasks, [] if session.json else await read_rows(store, tasks, hide), place

    tasks, rows, more = converse(session, look)
    cells = ([column.cell(row) for column in shown] for row in rows)
    tables.answer_lines(session, map(task_documents.listed, tasks), [each.name for each in shown], cells, FIT)
    if unreadable:
        output.note(f"records that cannot be read: {', '.join(unreadable)} (`supervisor tasks show ID` says why)")
    if more:
        output.note(f"there are more: --cursor {more}")


# `supervisor tasks follow`: the parts that a task emits, as they come.

KEPT = "\n\t"  # control characters that are printed unchanged


@options.command(epilog="Example: supervisor tasks follow 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@click.option(
    "--after",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="POSITION",
    help="Position of the last part that you have: print only the later parts.",
)
@options.changing
def follow(session: Session, /, task_id: str, after: int) -> int:
    """Print the parts that a task emits, as they come, until it has ended or asks for input. Also show its progress.

    Parts that are texts are printed one after the other, like the answer of a language model; other values on lines of
    their own. Earlier parts are printed first, as far as the store still has them. The progress stands on standard
    error. With --json each part is a document with its run and its position, and each progress is a document, too. The
    exit status is 1 if the task failed, was rejected or was canceled.
    """
    chosen, printer = whole_id(session, task_id), PartPrinter(session, after)

    async def work(manager: TaskManager) -> TaskRecord:
        async with anyio.create_task_group() as group:
            group.start_soon(_follow_progress, manager, chosen, printer)
            async with aclosing(manager.stream(chosen, after=after)) as parts:
                async for part in parts:
                    printer.print(part)
        return await manager.get_task(chosen)

    try:
        task = manage(session, work, LONG_RETRIES)
    finally:
        printer.progress.end()
        printer.end_line()
    if task.state is not State.COMPLETED:
        output.note(f"task {task.task_id} is {task.state}" + (f": {task.reason}" if task.reason else ""))
    return Exit.FAILED if task.state in NOT_COMPLETED else Exit.OK


async def _follow_progress(manager: TaskManager, task_id: str, printer: PartPrinter) -> None:
    async with aclosing(manager.progress(task_id)) as shown:
        async for progress in shown:
            printer.show(progress)


@dataclass(slots=True)
class PartPrinter:
    """Prints the parts and the progress of a task. `position` and `run`: of the last printed part; `run` is 0 before
    the first part. `is_open`: a line has begun."""

    session: Session
    position: int
    run: int = 0
    is_open: bool = False
    progress: TaskProgressLine = field(default_factory=TaskProgressLine)

    def show(self, progress: Progress) -> None:
        """Show the progress, unless a line of parts has begun on the terminal."""
        if self.session.json:
            output.line({"progress": task_documents.bar_of(progress)})
        elif not (self.is_open and self.session.is_terminal):
            self.progress.show(progress)

    def print(self, part: EmittedPart) -> None:
        self.progress.clear()
        if self.session.json:
            fields = {"position": part.position, "run": part.run, "at": printed_times.moment(part.at_ms)}
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
        self.progress.clear()
        if self.is_open:
            output.piece("\n")
            self.is_open = False

    def _remark(self, part: EmittedPart) -> None:
        """Print a remark if parts are missing, or the task runs again."""
        if part.position > self.position + 1:
            self.end_line()
            output.note(f"parts {self.position + 1} to {part.position - 1} are not kept any more")
        if self.run and part.run != self.run:
            self.end_line()
            output.note(f"run {part.run} begins; the parts before are of run {self.run}")
        self.position, self.run = part.position, part.run


@options.group(epilog="Example: supervisor tasks list --state working")
def tasks() -> None:
    """List, show, follow, cancel, pause, resume, retry, count and remove tasks, and list their errors."""


for command in (list_tasks, follow, cancel, pause, resume, retry, remove, clean, bulk):
    tasks.add_command(command)


@tasks.command(epilog="Example: supervisor tasks show 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.reading
def show(session: Session, /, task_id: str) -> None:
    """Show one task in full: its handler and arguments, its counts, result, last error and trail.

    The values of secret fields are shown as ***. --json prints everything, with the message as it was pushed.
    """
    chosen = whole_id(session, task_id)
    show_task(session, manage(session, lambda manager: manager.get_task(chosen)))


@tasks.command(epilog="Example: supervisor tasks count --json")
@options.reading
def count(session: Session, /) -> None:
    """Count tasks by state."""
    counts = task_documents.task_counts(ask(session, lambda store: store.counts()))
    tables.answer(session, counts, ("state", "tasks"), counts.items())


KINDS_FIT = tables.TableFit(("kind",), ("error", "place"), drop=("runs", "dead", "first", "handler", "last", "place"))


@tasks.command(epilog="Examples: supervisor tasks errors --since 1h; supervisor tasks retry --error 0b1c6a5e92d4")
@click.option("--name", help="Only errors of the handler with this name.", metavar="NAME")
@click.option(
    "--since",
    type=parameters.DURATION,
    default="1d",
    show_default=True,
    metavar="DURATION",
    help="Only kinds whose last failure was at most this long ago: 90s, 5m, 7d.",
)
@parameters.limit_option(100, "Maximum number of kinds.")
@options.listing
def errors(session: Session, /, name: str | None, since: float, limit: int) -> None:
    """List the kinds of errors with which runs of tasks have failed, the latest first.

    A kind is a handler, a type, a place and a message without its variable parts. `--error KIND` of
    other commands selects the tasks whose last failed run ended with this kind.
    """

    async def look(store: Store) -> tuple[int, Sequence[ErrorKind], int]:
        now_ms = await store.clock_ms()
        since_ms = max(0, now_ms - round(since * 1000))
        return (*await store.error_kinds(name, since_ms, 0, limit), now_ms)

    count, found, now_ms = ask(session, look)
    head = ("kind", "failed", "dead", "runs", "first", "last", "handler", "error", "place")
    rows = (_kind_cells(each, now_ms) for each in found)
    tables.answer_lines(session, map(error_kind_document, found), head, rows, KINDS_FIT)
    if count > len(found):
        output.note(f"{counted(count - len(found), 'kind')} more: --limit {count}")


def _kind_cells(kind: ErrorKind, now_ms: int) -> tuple[object, ...]:
    first, last = (f"{duration((now_ms - ms) / 1000)} ago" for ms in (kind.first_ms, kind.last_ms))
    error = f"{kind.type}: {kind.message}" if kind.message else kind.type
    return (kind.kind_id, kind.failed, kind.dead, kind.runs, first, last, kind.handler, error, kind.place)


def show_task(session: Session, task: TaskRecord, /) -> None:
    """Print a task in full, with the states of the tasks that it was submitted after."""
    parents: Sequence[ParentResult] = ()
    if task.if_parent_fails:
        parents = tuple(ask(session, lambda store: store.results_of_parents(task.task_id, 0)).values())
    if session.json:
        output.document(task_documents.whole(task) | {"parents": parent_documents(parents)})
    else:
        call = ask(session, lambda store: first_call(store, task))
        describe(task, call, parents, redaction_of(session).value)


def describe(task: TaskRecord, call: TaskCall | None, parents: Sequence[ParentResult], hide: Hide) -> None:
    """Print a task for people. `call`: of its handler. `hide` removes secrets from values."""
    document = hide({**task_documents.whole(task), **_told(task, call)})
    for name in ("task_id", "state", "handler", "arguments", "answer", *document):
        value = document.pop(name, None)
        if name not in _NOT_SHOWN and value not in (None, "", False, [], {}):
            output.text(f"{name.replace('_', ' '):<12} {output.readable(value)}", keep=output.LINE_END)
    if parents:
        output.text(f"parents      {parent_words(parents)}")
    for line in _failure(task, hide):
        output.text(line)
    output.text("trail")
    for entry in task.trail:
        at, _, event = entry.partition(" ")
        output.text(f"  {printed_times.moment(int(at)) if at.isdigit() else at}  {event}")


_NOT_SHOWN = frozenset({"trail", "error", "name", "bar", "claim"})  # `progress` is the bar in words


def _told(task: TaskRecord, call: TaskCall | None) -> dict[str, object]:
    """The handler of a task and its arguments, and the message of its present turn if that is an answer. They are shown
    in place of the operation, if the operation is a readable call."""
    latest = call_of(task.operation)
    if call is None or latest is None:
        return {"handler": task.name}
    known = {"handler": task.name, "arguments": _content(call), "operation": None}
    return known if call == latest else {**known, "answer": _content(latest)}


def _content(call: TaskCall) -> object:
    return call.kwargs or call.text or call.data


def _failure(task: TaskRecord, hide: Hide) -> list[str]:
    """The last error of a task as lines of text: its traceback if there is one."""
    error = hide(read_result(task.result).error)
    match error:
        case None:
            return []
        case {"traceback": str(traceback)} if traceback:
            return ["error", *(f"  {line}" for line in traceback.splitlines())]
        case _:
            return [f"error        {output.readable(error)}"]
