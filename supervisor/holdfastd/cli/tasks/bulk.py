"""`supervisor tasks bulk`: lists changes of many tasks, stops them and goes on with them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

import anyio
import anyio.lowlevel
import click
import rich_click

from holdfast.client.arguments import WantedTasks
from holdfast.client.bulk_steps import BulkSteps, CountedTasks, asked_change, counted_tasks
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import KEPT, NOT_RUNNING, NOT_STOPPED, SILENT_MS, BulkChange, BulkState, BulkVerb
from holdfast.core.task_states import State
from holdfast.core.words import counted
from holdfast.errors import HoldfastError, StoreError
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, ask, converse
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.common.task_id import TASK_ID
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.documents.bulk_documents import BulkDocument, bulk_document
from holdfastd.operations.act import operator_name
from holdfastd.web.queue.redaction import Redaction

# The tasks that a command changes: named by their ids, or all that a filter finds.

F = TypeVar("F", bound=Callable[..., Any])

FILTERS = "--state, --lane, --name, --text, --batch, --owner, --older, --newer"
WHICH = f"name the tasks by TASK_ID, or select them with --all or {FILTERS}"
OPTIONS = (
    click.argument("task_ids", nargs=-1, type=TASK_ID, metavar="[TASK_ID...]"),
    click.option("--all", "all_of_them", is_flag=True, help="All tasks in whose state this changes something."),
    click.option(
        "--state",
        "states",
        type=click.Choice([str(state) for state in State]),
        multiple=True,
        help="Only tasks in this state (repeatable).",
    ),
    click.option("--lane", help="Only tasks of this lane."),
    click.option("--name", help="Only tasks of the handler with this name."),
    click.option("--text", help="Only tasks with this text in their id, name, reason, arguments, result or error."),
    click.option("--batch", help="Only tasks of this batch."),
    click.option("--owner", help="Only tasks that this worker (its incarnation) runs."),
    click.option("--older", "older_than", type=DURATION, help="Only tasks accepted at least this long ago."),
    click.option("--newer", "newer_than", type=DURATION, help="Only tasks accepted at most this long ago."),
    click.option("--yes", is_flag=True, help="Do not ask for confirmation of what a filter finds."),
)


class TaskFilter:
    """The filter of a command's options; empty where tasks are named."""

    def __init__(self, chosen: Mapping[str, Any]) -> None:
        self.states: Sequence[State] = [State(state) for state in chosen["states"]]
        self.text: str = chosen["text"] or ""
        self.yes: bool = chosen["yes"]
        names = ("lane", "name", "batch", "owner", "older_than", "newer_than")
        self.wanted = cast("WantedTasks", {name: chosen[name] for name in names})

    @property
    def is_empty(self) -> bool:
        return not (self.states or self.text or any(value is not None for value in self.wanted.values()))


def of_tasks(command: F) -> F:
    """Adds the ids and the filter; the command gets `task_ids`, and the others for `chosen_filter`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def chosen_filter(task_ids: Sequence[str], chosen: Mapping[str, Any]) -> TaskFilter | None:
    """None if tasks are named by their ids. Raises UsageError for both, and for neither."""
    found = TaskFilter(chosen)
    filtered = chosen["all_of_them"] or not found.is_empty
    if bool(task_ids) == filtered:
        raise click.UsageError(f"TASK_ID, and --all or a filter, exclude each other: {WHICH}" if task_ids else WHICH)
    return found if filtered else None


# Carries out a change of many tasks in this process: counts, asks, and shows how far it is. Ctrl-C stops it.

ORIGIN = "the command line"


def begin(session: Session, verb: BulkVerb, chosen: TaskFilter, reason: str = "") -> int:
    """Change all tasks that the filter finds, after a question with their number."""
    change = asked_change(
        verb, chosen.states, chosen.wanted, chosen.text, who=operator_name(), origin=ORIGIN, reason=reason
    )
    if not chosen.yes and sys.stdin.isatty():
        number = converse(session, lambda store: _count(session, store, change))
        confirm(f"{verb.capitalize()} {counted(number, 'task')}?", "", yes=not number)
    else:
        confirm("", f"{verb} of all tasks that a filter finds", yes=chosen.yes)

    async def begin_it(store: Store) -> BulkChange:
        begun = await store.begin_bulk(change)
        await note(store, str(verb), change.change_id, change.begun_words(_redaction(session).query))
        return begun

    return carry_out(session, begin_it)


def carry_out(session: Session, begin_it: Callable[[Store], Awaitable[BulkChange]]) -> int:
    """Carry out what `begin_it` has begun, or goes on with, and print what came of it."""

    async def work(store: Store) -> tuple[BulkChange, int]:
        begun: BulkChange | None = None
        with anyio.CancelScope(shield=True):  # an interrupt finds it begun
            begun = await begin_it(store)
        assert begun is not None
        return await _to_its_end(_steps(session, store), store, begun), await store.clock_ms()

    change, now_ms = converse(session, work)
    if session.json:
        output.document(bulk_document(change, now_ms))
    elif change.state is BulkState.DONE:
        output.text(change.outcome)
    else:
        output.note(f"not finished here: it was stopped, or goes on in another process: {change.outcome}")
    return Exit.OK if change.state is BulkState.DONE and not change.refused else Exit.FAILED


async def note(store: Store, what: str, change_id: str, outcome: str) -> None:
    """Write down who has asked for it, as the dashboard does."""
    with suppress(StoreError):
        await store.note_activity(Activity(operator_name(), ORIGIN, f"bulk/{what}", change_id, outcome))


async def _to_its_end(steps: BulkSteps, store: Store, change: BulkChange) -> BulkChange:
    """Carry it out until it is done, somebody stops it, another process goes on with it, or this one is interrupted."""
    try:
        with WorkProgress("task", "searched", await _about(store, change), is_estimate=True) as progress:
            going_on = True
            while going_on:
                await anyio.lowlevel.checkpoint()
                change, going_on = await LONG_RETRIES.call(_step_to_its_end, steps, change)
                progress.show(change.searched)
    except anyio.get_cancelled_exc_class():
        is_told = False
        with anyio.CancelScope(shield=True):
            is_told = await _stop(store, change)
        when = "" if is_told else f" {SILENT_MS // 1000} s after the store is back"
        output.note(f"stopped: {change.outcome}; `supervisor tasks bulk go-on {change.change_id}` goes on{when}")
        raise
    except HoldfastError as error:
        error.add_note(f"`supervisor tasks bulk go-on {change.change_id}` goes on with it")
        raise
    change = await store.bulk_change(change.change_id) or change  # other runs of it have counted, too
    if change.state is BulkState.DONE:
        await note(store, str(change.verb), change.change_id, f"done: {change.outcome}")
    return change


async def _step_to_its_end(steps: BulkSteps, change: BulkChange) -> tuple[BulkChange, bool]:
    """One step, which an interrupt does not break off between a change and the note of it."""
    taken: tuple[BulkChange, bool] | None = None
    with anyio.CancelScope(shield=True):
        taken = await steps.noted_step(change)
    assert taken is not None
    return taken


async def _stop(store: Store, change: BulkChange) -> bool:
    """Write down that it is stopped. False where the store is away: some seconds later it counts as interrupted."""
    with suppress(StoreError):
        if await store.stop_bulk(change.change_id):
            await note(store, "stop", change.change_id, "")
        return True
    return False


async def _count(session: Session, store: Store, change: BulkChange) -> int:
    known, found = None if session.settings.postgres else (await store.counts()).states, 0
    with WorkProgress("task", "searched", await _about(store, change), is_estimate=True) as progress:
        async for count in counted_tasks(_steps(session, store), change, known, CountedTasks(0, 0, 0)):
            progress.show(count.searched)
            found = count.found
    return found


async def _about(store: Store, change: BulkChange) -> int | None:
    """About how many tasks it looks at."""
    known = (await store.counts()).states
    return sum(known.get(state, 0) for state in change.wanted.states) or None


def _redaction(session: Session) -> Redaction:
    return Redaction.of(session.settings.web_redact)


def _steps(session: Session, store: Store) -> BulkSteps:
    """The steps of a change. As in the web process, no hidden value is searched."""
    return BulkSteps(store, SubmitRetries(attempts=1), _redaction(session).value)


COLUMNS = ("change", "verb", "filter", "state", "changed", "refused", "moved", "searched", "begun", "who", "from")
FIT = TableFit(("filter", "change"), ("who",), drop=("from", "moved", "refused", "searched", "who", "begun"))

change_argument = click.argument("change_id", metavar="CHANGE")


@rich_click.group(epilog="Example: supervisor tasks bulk list")
def bulk() -> None:
    """List changes of many tasks, stop them and go on with them.

    `supervisor tasks cancel`, `retry` and `remove` with a filter begin one; so do the dashboard and the HTTP API.
    """


@bulk.command("list", epilog="Example: supervisor tasks bulk list --json")
@click.option(
    "--limit", type=click.IntRange(1, KEPT), default=KEPT, show_default=True, help="Maximum number of changes."
)
@options.wide
@options.store
@options.pass_reading_session
def list_(session: Session, /, limit: int) -> None:
    """List changes of many tasks, newest first, and how far they are. The last 100 are kept."""

    async def look(store: Store) -> list[BulkDocument]:
        now_ms = await store.clock_ms()
        return [bulk_document(each, now_ms) for each in await store.bulk_changes(limit)]

    changes = ask(session, look)
    if session.json:
        output.document({"changes": changes})
    else:
        table(COLUMNS, [_cells(each) for each in changes], FIT, wide=session.wide)


def _cells(change: BulkDocument) -> tuple[object, ...]:
    numbers = (change["changed"], change["refused"], change["moved"], change["searched"])
    texts = (change["change_id"], change["verb"], change["filter"] or "all tasks", change["state"])
    return (*texts, *numbers, change["begun"], change["who"], change["origin"])


@bulk.command(epilog="Example: supervisor tasks bulk stop 8d1f0c2a9b7e4653")
@change_argument
@options.store
@options.pass_session
def stop(session: Session, /, change_id: str) -> int:
    """Stop a change of many tasks after the step in which it is."""

    async def stop_it(store: Store) -> bool:
        stopped = await store.stop_bulk(change_id)
        await note(store, "stop", change_id, "" if stopped else NOT_RUNNING)
        return stopped

    if not ask(session, stop_it):
        raise CommandError(f"change of many tasks {change_id!r}: {NOT_RUNNING}")
    output.text(f"{change_id} stopped")
    return Exit.OK


@bulk.command("go-on", epilog="Example: supervisor tasks bulk go-on 8d1f0c2a9b7e4653")
@change_argument
@options.store
@options.pass_session
def go_on(session: Session, /, change_id: str) -> int:
    """Go on with a change of many tasks that was stopped, or whose process is gone, from where it is.

    This command carries it out; Ctrl-C stops it.
    """

    async def resume_it(store: Store) -> BulkChange:
        change = await store.resume_bulk(change_id)
        await note(store, "go-on", change_id, "" if change else NOT_STOPPED)
        if change is None:
            raise CommandError(f"change of many tasks {change_id!r}: {NOT_STOPPED}")
        return change

    return carry_out(session, resume_it)
