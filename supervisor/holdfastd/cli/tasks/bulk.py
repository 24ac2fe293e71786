"""`supervisor tasks bulk`: lists changes of many tasks, stops them and goes on with them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import click
import msgspec

from holdfast.client.bulk_steps import BulkSteps, CountedTasks, asked_change, counted_tasks
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_filter import AGES, TaskFilter
from holdfast.core.bulk_changes import KEPT, SILENT_MS, BulkChange, BulkState, BulkVerb
from holdfast.core.task_states import State
from holdfast.core.words import counted
from holdfast.errors import HoldfastError, StoreError
from holdfast.exits import Exit
from holdfastd.cli.common import Session, options, output, parameters, tables
from holdfastd.cli.common.store_session import LONG_RETRIES, Store, arguments_of, ask, command_of, converse, operate_in
from holdfastd.cli.common.task_id import TASK_ID
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.documents.task_documents import BulkDocument, bulk_document
from holdfastd.operations.act import Act
from holdfastd.operations.error_statuses import NotPossibleError
from holdfastd.operations.many_tasks import BEGIN_BULK, GO_ON_WITH_BULK, STOP_BULK, ended
from holdfastd.operations.reading import description_of, kinds_of
from holdfastd.web.queue.redaction import Redaction

# The tasks that a command changes: named by their ids, or all that a filter finds.

WHICH = f"name the tasks by TASK_ID, or select them with --all or --{', --'.join(TaskFilter.__struct_fields__)}"
STATES = click.Choice([str(state) for state in State])


def filter_options(kind: type[TaskFilter]) -> options.Decorator:
    """A decorator that adds an option for each field of the filter."""
    return options.together(*map(_option, msgspec.structs.fields(kind)))


def _option(field: msgspec.structs.FieldInfo) -> options.Decorator:
    flag, help_ = options.flag(field.name), description_of(field.type)
    if field.name == "state":
        return click.option(flag, type=STATES, multiple=True, help=f"{help_} Repeatable.")
    metavar = "DURATION" if field.name in AGES else None
    return click.option(flag, is_flag=bool in kinds_of(field.type), metavar=metavar, help=help_)


@dataclass(frozen=True, slots=True)
class ChosenFilter:
    """The filter from a command's options, in the form of the act. `yes`: do not ask for confirmation."""

    given: dict[str, object]
    yes: bool


of_tasks = options.together(  # the command gets `task_ids`, and the others for `chosen_filter`
    click.argument("task_ids", nargs=-1, type=TASK_ID, metavar="[TASK_ID...]"),
    click.option("--all", "all_of_them", is_flag=True, help="All tasks whose state allows this change."),
    filter_options(TaskFilter),
    click.option("--yes", is_flag=True, help="Do not ask for confirmation of what a filter finds."),
)


def chosen_filter(task_ids: Sequence[str], chosen: Mapping[str, Any]) -> ChosenFilter | None:
    """The filter that was given; None if the tasks are named by their ids. Raises UsageError if both are given, or
    neither."""
    asked = {name: chosen[name] for name in TaskFilter.__struct_fields__}
    given = {name: value for name, value in asked.items() if value not in (None, (), "")}
    filtered = bool(chosen["all_of_them"] or given)
    if bool(task_ids) == filtered:
        raise click.UsageError(f"TASK_ID, and --all or a filter, exclude each other: {WHICH}" if task_ids else WHICH)
    return ChosenFilter(given, chosen["yes"]) if filtered else None


# Carries out a change of many tasks in this process: counts, asks, and shows how far it is. Ctrl-C stops it.


def begin(session: Session, verb: BulkVerb, chosen: ChosenFilter, reason: str = "") -> int:
    """Change all tasks that the filter finds. First shows the number of these tasks, and asks for confirmation. Returns
    the exit status."""
    texts = {**chosen.given, "verb": verb, "reason": reason}
    if not chosen.yes and sys.stdin.isatty():
        given = BEGIN_BULK.read_texts(texts)
        number = converse(session, lambda store: _count(session, store, asked_change(verb, given)))
        parameters.confirm(f"{verb.capitalize()} {counted(number, 'task')}?", "", yes=not number)
    else:
        parameters.confirm("", f"{verb} of all tasks that a filter finds", yes=chosen.yes)
    return carry_out(session, BEGIN_BULK, texts)


def carry_out(session: Session, act: Act[Any, BulkDocument], texts: Mapping[str, object]) -> int:
    """Carry out the act, which begins or continues a change of many tasks. Then carry out this change, and print its
    counts. Returns the exit status."""

    async def work(store: Store) -> tuple[BulkChange, int]:
        begun = list[BulkChange]()
        with anyio.CancelScope(shield=True):  # an interrupt waits until the change has begun
            await operate_in(store, session, act, texts, shown=redaction_of(session).query, begun=begun.append)
        change = begun[0]

        async def stop_it() -> None:
            with suppress(NotPossibleError):
                await operate_in(store, session, STOP_BULK, {"change_id": change.change_id})

        return await _to_its_end(_steps(session, store), store, change, stop_it), await store.clock_ms()

    change, now_ms = converse(session, work)
    if session.json:
        output.document(bulk_document(change, now_ms))
    elif change.state is BulkState.DONE:
        output.text(change.outcome)
    else:
        output.note(f"not finished here: it was stopped, or goes on in another process: {change.outcome}")
    return Exit.OK if change.state is BulkState.DONE and not change.refused else Exit.FAILED


async def _to_its_end(
    steps: BulkSteps, store: Store, change: BulkChange, stop_it: Callable[[], Awaitable[None]]
) -> BulkChange:
    """Carry out the change until it is done or stopped, until another process continues it, or until this process is
    interrupted."""
    try:
        with WorkProgress("task", "searched", await _about(store, change), is_estimate=True) as progress:
            going_on = True
            while going_on:
                await anyio.lowlevel.checkpoint()
                change, going_on = await LONG_RETRIES.call(_step_to_its_end, steps, change)
                progress.show(change.searched)
    except anyio.get_cancelled_exc_class():
        when = f" {SILENT_MS // 1000} s after the store is back"
        with anyio.CancelScope(shield=True), suppress(StoreError):
            await stop_it()
            when = ""
        output.note(f"stopped: {change.outcome}; `supervisor tasks bulk go-on {change.change_id}` goes on{when}")
        raise
    except HoldfastError as error:
        error.add_note(f"`supervisor tasks bulk go-on {change.change_id}` goes on with it")
        raise
    return await ended(store, change)


async def _step_to_its_end(steps: BulkSteps, change: BulkChange) -> tuple[BulkChange, bool]:
    """Carry out one step of the change. An interrupt (Ctrl-C) takes effect when the store has recorded the step."""
    taken: tuple[BulkChange, bool] | None = None
    with anyio.CancelScope(shield=True):
        taken = await steps.noted_step(change)
    assert taken is not None
    return taken


async def _count(session: Session, store: Store, change: BulkChange) -> int:
    known, found = None if session.settings.postgres else (await store.counts()).states, 0
    with WorkProgress("task", "searched", await _about(store, change), is_estimate=True) as progress:
        async for count in counted_tasks(_steps(session, store), change, known, CountedTasks(0, 0, 0)):
            progress.show(count.searched)
            found = count.found
    return found


async def _about(store: Store, change: BulkChange) -> int | None:
    """About how many tasks the change will search."""
    known = (await store.counts()).states
    return sum(known.get(state, 0) for state in change.wanted.states) or None


def redaction_of(session: Session) -> Redaction:
    """The object that hides the same secret values as the dashboard does."""
    return Redaction.of(session.settings.web_redact)


def _steps(session: Session, store: Store) -> BulkSteps:
    """The object that carries out the steps of a change of many tasks. As in the web process, a filter by text does not
    look into hidden values."""
    return BulkSteps(store, SubmitRetries(attempts=1), redaction_of(session).value)


COLUMNS = ("change", "verb", "filter", "state", "changed", "refused", "moved", "searched", "begun", "who", "from")
FIT = tables.TableFit(("filter", "change"), ("who",), drop=("from", "moved", "refused", "searched", "who", "begun"))


@options.group(epilog="Example: supervisor tasks bulk list")
def bulk() -> None:
    """List changes of many tasks, stop them and go on with them.

    `supervisor tasks cancel`, `retry` and `remove` with a filter begin such a change. So do the dashboard and the HTTP
    API.
    """


@bulk.command("list", epilog="Example: supervisor tasks bulk list --json")
@parameters.limit_option(KEPT, "Maximum number of changes.", KEPT)
@options.listing
def list_(session: Session, /, limit: int) -> None:
    """List changes of many tasks, newest first, and how far they are. The last 100 are kept."""

    async def look(store: Store) -> list[BulkDocument]:
        now_ms = await store.clock_ms()
        return [bulk_document(each, now_ms) for each in await store.bulk_changes(limit)]

    changes = ask(session, look)
    tables.answer(session, {"changes": changes}, COLUMNS, map(_cells, changes), FIT)


def _cells(change: BulkDocument) -> tuple[object, ...]:
    numbers = (change["changed"], change["refused"], change["moved"], change["searched"])
    texts = (change["change_id"], change["verb"], change["filter"] or "all tasks", change["state"])
    return (*texts, *numbers, change["begun"], change["who"], change["origin"])


STOPPED = "Example: supervisor tasks bulk stop 8d1f0c2a9b7e4653"
bulk.add_command(command_of(STOP_BULK, "stop", lambda change: f"{change['change_id']} stopped", STOPPED))


@bulk.command("go-on", epilog="Example: supervisor tasks bulk go-on 8d1f0c2a9b7e4653")
@arguments_of(GO_ON_WITH_BULK)
@options.changing
def go_on(session: Session, /, change_id: str) -> int:
    """Go on with a change of many tasks that was stopped, or whose process is gone.

    This command carries out the rest of the change; Ctrl-C stops the change again.
    """
    return carry_out(session, GO_ON_WITH_BULK, {"change_id": change_id})
