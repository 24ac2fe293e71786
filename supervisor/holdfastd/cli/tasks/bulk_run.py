"""Carries out a change of many tasks in this process: counts, asks, and shows how far it is. Ctrl-C stops it."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import anyio.lowlevel

from holdfast.client.bulk_filter import asked_change
from holdfast.client.bulk_steps import BulkSteps
from holdfast.client.counted_tasks import CountedTasks, counted_tasks
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import SILENT_MS, BulkChange, BulkState, BulkVerb
from holdfast.core.plurals import counted
from holdfast.errors import HoldfastError, StoreError
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import output
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, converse
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.cli.tasks.task_choice import TaskFilter
from holdfastd.cli.views.operator import operator
from holdfastd.documents.bulk_documents import bulk_document
from holdfastd.web.queue.redaction import Redaction

ORIGIN = "the command line"


def begin(session: Session, verb: BulkVerb, chosen: TaskFilter, reason: str = "") -> int:
    """Change all tasks that the filter finds, after a question with their number."""
    change = asked_change(verb, chosen.states, chosen.wanted, chosen.text, who=operator(), origin=ORIGIN, reason=reason)
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
        await store.note_activity(Activity(operator(), ORIGIN, f"bulk/{what}", change_id, outcome))


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
