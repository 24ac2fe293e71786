"""The tasks that a filter finds: a page of these tasks, their number, and bulk changes of all of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta
from starlette.requests import Request

from holdfast.client.bulk_steps import BulkSteps, CountedTasks, counted_tasks
from holdfast.client.task_filter import TaskFilter
from holdfast.core.bulk_changes import BulkChange, BulkVerb
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, TaskRecord, Wanted
from holdfast.errors import HoldfastError, StoreUnavailableError
from holdfastd.operations.many_tasks import ended, failed
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

Number = Annotated[int, Meta(ge=0, le=10**15)]
Cursor = Annotated[str, Meta(max_length=1000, description="Continue after an earlier page: the cursor of that page.")]


class TaskSearch(TaskFilter, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A filter of tasks, and the place and counts at which an earlier answer stopped."""

    found: Annotated[Number, Meta(description="Number of tasks that earlier answers found.")] = 0
    searched: Annotated[Number, Meta(description="Number of tasks that earlier answers searched.")] = 0
    cursor: Cursor = ""
    longest: Annotated[bool, Meta(description="Of running tasks, those first that have run longest.")] = False

    @property
    def before(self) -> CountedTasks:
        return CountedTasks(self.found, self.searched, 0, self.cursor)


def filter_texts(fields: Mapping[str, str], kind: type[TaskFilter]) -> dict[str, object]:
    """The fields of a form or a query that the filter `kind` has. The states are one text with commas."""
    names = {each.name for each in msgspec.structs.fields(kind)}
    given: dict[str, object] = {name: text.strip() for name, text in fields.items() if name in names and text.strip()}
    return {**given, "state": fields["state"].strip().split(",")} if "state" in given else given


# One page of tasks. Calls of the store fill it until it has `limit` tasks, or LONGEST seconds have passed.

STEP = 100  # tasks that one call of the store may answer
LONGEST = 0.025  # seconds after which no further call begins


async def found_tasks(
    access: QueueAccess, wanted: TaskFilter, limit: int, cursor: str, *, newest_first: bool = True
) -> Page:
    """At most `limit` tasks from the cursor on. The search does not look into secret values."""
    found, unreadable, searched = list[TaskRecord](), list[str](), 0
    until = time.monotonic() + LONGEST
    while True:
        most = min(STEP, limit - len(found))
        page = await access.manager.find(wanted, most, cursor, newest_first=newest_first, shown=access.redaction.value)
        found += page.tasks
        unreadable += page.unreadable
        searched += page.searched
        cursor = page.cursor
        if not cursor or len(found) >= limit or time.monotonic() >= until:
            return Page(tuple(found), cursor, tuple(unreadable), searched)


# The number of tasks that a filter finds, as far as LONGEST seconds suffice to count them.


async def counted_meanwhile(request: Request, change: BulkChange, before: CountedTasks) -> CountedTasks:
    access = queue_of(request)
    known = None if access.settings.postgres else (await request.app.state.counts.read()).states
    steps = BulkSteps(access.store, access.manager.retries, access.redaction.value)
    until, count = time.monotonic() + LONGEST, before
    async with aclosing(counted_tasks(steps, change, known, before)) as counts:
        async for each in counts:
            count = each
            if time.monotonic() >= until:
                break
    return count


# The first tasks that a change finds, by their handler and the type of their error.

MOST_GROUPS = 6
FIRST = 5  # tasks that the page shows
MOST_KINDS = 25  # kinds of errors that are read for a change of failed tasks
SAMPLED = 0.01  # seconds after which no further call begins


@dataclass(frozen=True, slots=True)
class ChangeSample:
    """The first tasks of a change. `groups`: of these, the number with one handler and one word, the largest first; the
    word is the type of the error, the reason without a type, or the state. `others`: the number of tasks in smaller
    groups. `retried`: how many were retried before, so that a retry leaves them out. `first`: the newest FIRST of
    these tasks. `is_all`: there are no more tasks. `is_counted`: the groups are those of all tasks, by the store's
    counts of kinds of errors."""

    number: int = 0
    groups: tuple[tuple[str, str, int], ...] = ()
    others: int = 0
    retried: int = 0
    first: tuple[TaskRecord, ...] = ()
    is_all: bool = False
    is_counted: bool = False


async def sample_of(access: QueueAccess, change: BulkChange) -> ChangeSample:
    steps = BulkSteps(access.store, access.manager.retries, access.redaction.value)
    until, found, cursor = time.monotonic() + SAMPLED, list[TaskRecord](), ""
    while True:
        page = await steps.found(change.wanted, change.text, STEP - len(found), cursor)
        found, cursor = [*found, *page.tasks], page.cursor
        if not cursor or len(found) >= STEP or time.monotonic() >= until:
            break
    kept = [task for task in found if change.verb is not BulkVerb.RETRY or not task.retried_as]
    groups = Counter((task.name, _word(task)) for task in kept)
    by_kind = await _failed_by_kind(access, change) if cursor else None
    largest = (by_kind or groups).most_common()
    return ChangeSample(
        number=len(kept),
        groups=tuple((*group, number) for group, number in largest[:MOST_GROUPS]),
        others=sum(number for _, number in largest[MOST_GROUPS:]),
        retried=len(found) - len(kept),
        first=tuple(sorted(kept, key=lambda task: -task.created_ms)[:FIRST]),
        is_all=not cursor,
        is_counted=not cursor or bool(by_kind),
    )


async def _failed_by_kind(access: QueueAccess, change: BulkChange) -> Counter[tuple[str, str]] | None:
    """The number of failed tasks by handler and type of error, from the counts of the store. None if the filter asks
    for more than states of failed tasks and a handler."""
    wanted, states = change.wanted, set(change.wanted.states)
    is_plain = replace(wanted, states=(), name="", newest_first=False) == Wanted() and not change.text
    if not is_plain or not states <= {State.FAILED, State.REJECTED}:
        return None
    _, kinds = await access.store.error_kinds(wanted.name or None, 0, 0, MOST_KINDS)
    found = Counter[tuple[str, str]]()
    for kind in kinds:
        found[kind.handler, kind.type.rpartition(".")[2]] += kind.failed if State.REJECTED in states else kind.dead
    return +found


def _word(task: TaskRecord) -> str:
    """The type of the error of a task that has failed, or its reason; the state of any other task."""
    kind, colon, _ = task.reason.partition(": ")
    if task.state is not State.FAILED:
        return str(task.state)
    return kind.rpartition(".")[2] if task.error_kind and colon and " " not in kind else task.reason or "failed"


# The bulk changes that this process carries out, each as a task of its event loop.

AGAIN = 1.0  # seconds between two tries while the store is away

_log = structlog.get_logger("holdfast.web")


@dataclass(slots=True)
class BulkWork:
    """Carries out bulk changes. `_running`: by the id of a change, the asyncio task that carries it out."""

    access: QueueAccess
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    def start(self, change: BulkChange) -> None:
        """Begin to carry out the change, at the place where it stopped before."""
        change_id = change.change_id
        work = self._running[change_id] = asyncio.create_task(self._carry_out(change, self._running.get(change_id)))

        def forget(_: object) -> None:
            if self._running.get(change_id) is work:
                del self._running[change_id]

        work.add_done_callback(forget)

    async def _carry_out(self, change: BulkChange, before: asyncio.Task[None] | None) -> None:
        """Carry out a change until it is done or stopped, or another process continues it. `before`: an earlier run of
        the same change here, which must end first. Otherwise both runs would count the same tasks."""
        if before is not None:
            await asyncio.wait((before,))
        store = self.access.store
        steps = BulkSteps(store, self.access.manager.retries, self.access.redaction.value)
        going_on = True
        while going_on:
            try:
                change, going_on = await steps.noted_step(change)
            except StoreUnavailableError:
                await asyncio.sleep(AGAIN)
            except HoldfastError as error:
                _log.error("a change of many tasks has failed", reason=str(error))
                await failed(store, change, error)
                return
        await ended(store, change)


def bulk_work_of(request: Request) -> BulkWork:
    """The bulk changes of the application that answers this request."""
    work = request.app.state.bulk_work
    assert isinstance(work, BulkWork)
    return work
