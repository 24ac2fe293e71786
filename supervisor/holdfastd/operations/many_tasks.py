"""Acts on changes of many tasks: one verb for all tasks that a filter finds, carried out in steps.

An act only records that a change begins, stops or goes on. The process that got the request carries the change out:
the act hands the change to `Doing.begun`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.client.bulk_steps import asked_change
from holdfast.client.task_filter import TaskFilter
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import NOT_RUNNING, NOT_STOPPED, BulkChange, BulkState, BulkVerb
from holdfast.errors import HoldfastError, StoreError
from holdfast.store import Store
from holdfastd.documents.task_documents import BulkDocument, bulk_document
from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.error_statuses import NotPossibleError

ChangeId = Annotated[str, Meta(description="Id of the change: `change_id` in the answer that began it.")]
Verb = Annotated[BulkVerb, Meta(description="The change.")]


class BeginBulk(TaskFilter, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A verb, and the filter of the tasks to change. Without a filter: all tasks in a state that the verb can
    change."""

    verb: Verb
    reason: Reason = ""


class ChosenBulk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The change of many tasks to which the act applies."""

    change_id: ChangeId


async def begin_bulk_change(doing: Doing, given: BeginBulk) -> BulkDocument:
    """Cancel, retry or remove all tasks that a filter finds, in recorded steps.

    The answer comes at once, and the change goes on after it. Tasks that are accepted later are not changed. Ask for
    the number of tasks first.
    """
    operator = doing.operator
    reason = given.reason.strip()
    change = asked_change(given.verb, given, who=operator.name, origin=operator.origin, reason=reason)
    begun = await doing.store.begin_bulk(change)
    if not (await doing.call(doing.store.tasks, given.wanted(), 1, "")).tasks:
        await doing.hint(given)
    doing.asked.subject = begun.change_id
    doing.asked.outcome = f"begun: {begun.words(doing.shown)}"
    doing.begun(begun)
    return bulk_document(begun, begun.begun_ms, doing.shown)


async def stop_bulk_change(doing: Doing, given: ChosenBulk) -> BulkDocument:
    """Stop a change of many tasks after its present step."""
    stopped = await doing.store.stop_bulk(given.change_id)
    change = await doing.call(doing.store.bulk_change, given.change_id) if stopped else None
    if change is None:
        raise _refusal(given.change_id, NOT_RUNNING)
    return bulk_document(change, await doing.call(doing.store.clock_ms), doing.shown)


async def go_on_with_bulk_change(doing: Doing, given: ChosenBulk) -> BulkDocument:
    """Go on with a change of many tasks that was stopped, or whose process is gone. It begins where it stopped."""
    change = await doing.store.resume_bulk(given.change_id)
    if change is None:
        raise _refusal(given.change_id, NOT_STOPPED)
    doing.begun(change)
    return bulk_document(change, change.told_ms, doing.shown)


async def ended(store: Store, change: BulkChange) -> BulkChange:
    """The change as the store has it, with the counts of other processes that carried it out. If `change` is done,
    Activity gets its end, under the name of the user who began it."""
    is_done = change.state is BulkState.DONE
    with suppress(StoreError):
        change = await store.bulk_change(change.change_id) or change
        if is_done:
            name, outcome = f"bulk/{change.verb}", f"done: {change.outcome}"
            await store.note_activity(Activity(change.who, change.origin, name, change.change_id, outcome))
    return change


async def failed(store: Store, change: BulkChange, error: HoldfastError) -> None:
    """Stop a change of which a step has failed. Activity gets the reason, under the name of the user who began it."""
    await store.stop_bulk(change.change_id)
    outcome = f"stopped: {error}; {change.outcome}"
    activity = Activity(change.who, change.origin, f"bulk/{change.verb}", change.change_id, outcome, is_refused=True)
    await store.note_activity(activity)


def _refusal(change_id: str, why: str) -> NotPossibleError:
    return NotPossibleError(f"change of many tasks {change_id[:50]!r}: {why}")


BEGIN_BULK = Act("bulk/begin", BeginBulk, begin_bulk_change)
STOP_BULK = Act("bulk/stop", ChosenBulk, stop_bulk_change, "change_id")
GO_ON_WITH_BULK = Act("bulk/go-on", ChosenBulk, go_on_with_bulk_change, "change_id")
