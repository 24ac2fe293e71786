"""Read tasks: one, a list, a count; wait until they settle."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from holdfast.client.arguments import (
    WantedTasks,
    check_cursor,
    check_flag,
    check_id,
    check_ids,
    check_lane,
    check_limit,
    check_name,
    check_position,
    check_seconds,
    check_states,
    check_text,
    checked_wanted,
)
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.emitted_parts import EmittedPart, PartsPage
from holdfast.core.task_search import TextSearch, as_it_is
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Page, TaskRecord
from holdfast.core.worker_records import ServedState
from holdfast.errors import StoreUnavailableError, TaskFailed, TaskRefused, UnknownTaskError
from holdfast.store.protocol import ProducerStore, Store

if TYPE_CHECKING:
    from typing import Unpack


# Waits until tasks have ended or ask for input, by the store's notices and not by polling.
#
# The subscription stands before the first look, so an end between the two is seen by one of them. After a while without
# a notice the subscription is made anew and all tasks are looked at again: a notice is a hint, and one that was lost
# with a connection costs seconds, not the answer.

SETTLED = TERMINAL | {State.INPUT_REQUIRED, State.AUTH_REQUIRED}
QUIET = 5.0  # seconds without a notice after which to look again
LOOKS_PER_SECOND = 200  # many tasks are looked at less often

Get = Callable[[str, bool], Awaitable[TaskRecord]]


async def outcomes(
    store: ProducerStore, get: Get, task_ids: Iterable[str], quiet: float = QUIET
) -> AsyncGenerator[TaskRecord, None]:
    """The record of each task once it has settled, in the order in which they do. `get(id, payloads)` retries while
    the store is away, and raises for an unknown task. After `quiet` seconds without a notice all are looked at again.
    """
    waiting = set(task_ids)
    while waiting:
        try:
            async with subscription(store.settled(list(waiting))) as notices:
                while (named := await next_notice(notices, quiet + len(waiting) / LOOKS_PER_SECOND)) is not None:
                    for task_id in waiting & {named} if named else sorted(waiting):
                        if (await get(task_id, False)).state in SETTLED:
                            waiting.discard(task_id)
                            yield await get(task_id, True)
                    if not waiting:
                        return
        except StoreUnavailableError:
            # The subscription broke. The next look retries until the store is back, or gives up.
            await get(next(iter(waiting)), False)


async def next_notice(notices: AsyncIterator[str], seconds: float) -> str | None:
    """The next notice, or None after a quiet time: `notices` cannot be used after that."""
    with anyio.move_on_after(seconds):
        return await anext(notices, None)
    return None


@asynccontextmanager
async def subscription(notices: AsyncIterator[str]) -> AsyncGenerator[AsyncIterator[str], None]:
    """These notices, whose subscription ends with the block."""
    try:
        yield notices
    finally:
        if isinstance(notices, AsyncGenerator):
            await notices.aclose()


# Follows the parts that a task emits, by the store's notices: those that are kept, then the new ones, to its end.
#
# Each notice leads to one read of all parts behind the last one that was read, so a lost notice costs a moment and no
# part, and a reader that is slow has the parts that are kept, in few reads. After a while without a notice the
# subscription is made anew and the store is read again.

Notices = Callable[[], AsyncIterator[str]]
Read = Callable[[int], Awaitable[PartsPage]]


async def parts(notices: Notices, read: Read, after: int, quiet: float = QUIET) -> AsyncGenerator[EmittedPart]:
    """The parts of a task behind a position, until it has ended or asks for input. `read(position)` retries while the
    store is away, and raises for an unknown task."""
    position, is_over = after, False
    while not is_over:
        try:
            async with subscription(notices()) as told:
                while not is_over and await next_notice(told, quiet) is not None:
                    is_whole = False
                    while not is_whole:
                        page = await read(position)
                        for part in page.parts:
                            yield part
                        is_whole, is_over = page.is_whole, page.state in SETTLED
                        # A store that has lost parts goes on from an earlier position.
                        position = page.parts[-1].position if page.parts else min(position, page.last)
        except StoreUnavailableError:
            await read(position)  # the subscription broke; this retries until the store is back, or gives up


STEP = 100  # tasks of one look into the store
NOT_COMPLETED = TERMINAL - {State.COMPLETED}


class TaskQueries:
    """The calls of TaskManager that change nothing."""

    def __init__(self, store: Store, retries: SubmitRetries) -> None:
        self._store = store
        self._call = retries.call

    async def get_task(self, task_id: str) -> TaskRecord:
        """The whole task; raises UnknownTaskError."""
        return await self.record(task_id, payloads=True)

    async def record(self, task_id: str, payloads: bool) -> TaskRecord:
        """A task, with or without its payloads; raises UnknownTaskError."""
        record = await self._call(self._store.get, check_id(task_id), payloads=payloads)
        if record is None:
            raise UnknownTaskError(f"no task {task_id}; one that ended long ago is forgotten")
        return record

    async def list_tasks(
        self,
        *states: State | str,
        state: State | str | None = None,
        limit: int = 100,
        cursor: str = "",
        **wanted: Unpack[WantedTasks],
    ) -> Page:
        """A page of tasks without payloads: in these states, of this lane, handler's name, batch and worker that runs
        them (`owner`), accepted at least `older_than` and at most `newer_than` seconds ago; an argument that is not
        given does not matter. `newest_first`: within each state the last ones first, else in the order of the queue.

        The page's cursor continues the list, and is empty at its end. The number of tasks looked at for a page is
        bounded, so a page may hold fewer than `limit`, even none, and still have a cursor. While tasks change their
        state a list may miss or repeat one.
        """
        chosen = checked_wanted(states if state is None else (*states, state), wanted)
        return await self._pages(partial(self._store.tasks, chosen), limit, cursor)

    async def search_tasks(
        self,
        text: str,
        *states: State | str,
        state: State | str | None = None,
        limit: int = 100,
        cursor: str = "",
        shown: Callable[[Any], Any] = as_it_is,
        **wanted: Unpack[WantedTasks],
    ) -> Page:
        """As `list_tasks`, of the tasks that the text is in: in the id, the handler's name, the reason, or the
        arguments, result or error of the latest turn, of which the first 64 KiB are searched. Upper and lower case do
        not matter. The page says how many tasks were `searched` for it. `shown` gives a value of JSON without what the
        reader may not see: the text is not searched in the rest."""
        chosen = checked_wanted(states if state is None else (*states, state), wanted)
        return await self._pages(
            partial(self._store.search, chosen, TextSearch(check_text(text), shown)), limit, cursor
        )

    async def _pages(self, read: Callable[[int, str], Awaitable[Page]], limit: int, cursor: str) -> Page:
        """One page of some steps of the store."""
        found, unreadable, searched, place = list[TaskRecord](), list[str](), 0, check_cursor(cursor)
        for _ in range(check_limit(limit) // STEP + 1):
            page = await self._call(read, limit - len(found), place)
            found += page.tasks
            unreadable += page.unreadable
            searched += page.searched
            place = page.cursor
            if not place or len(found) == limit:
                break
        return Page(tuple(found), place, tuple(unreadable), searched)

    async def count_tasks(self, *states: State | str) -> int:
        """The number of tasks in these states (none: in any)."""
        wanted = check_states(states) or tuple(State)
        counts = await self._call(self._store.counts)
        return sum(counts.states.get(state, 0) for state in wanted)

    async def wait(self, task_id: str, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord:
        """The task once it has ended or asks for input; raises TimeoutError after `timeout` seconds. `raise_failed`:
        raises TaskFailed for a task that has failed, was rejected or was canceled; TaskRefused, which is one, for a
        task that was accepted while Redis was away and that Redis could not take."""
        if timeout is not None:
            check_seconds("timeout", timeout)
        check_flag("raise_failed", raise_failed)
        settled = self.wait_all([task_id])
        with anyio.move_on_after(timeout):
            async with aclosing(settled):
                record = await anext(settled)
            if raise_failed and record.state in NOT_COMPLETED:
                raise _failed(record)
            return record
        raise TimeoutError(f"task {task_id} has not ended within {timeout:g} s")

    def wait_all(self, task_ids: Iterable[str]) -> AsyncGenerator[TaskRecord, None]:
        """Each of these tasks once it has ended or asks for input, in the order in which they do."""
        return outcomes(self._store, self.record, check_ids(task_ids))

    def stream(self, task_id: str, *, after: int = 0) -> AsyncGenerator[EmittedPart]:
        """The parts that the task emits (`task.emit`), as they come: first those that are kept behind the position
        `after` (0: all), then new ones, until the task has ended or asks for input.

        A part names its run: one of a later run than the part before means that the task began anew. Where positions
        leap, parts between are not kept any more. A lost connection is made again, and nothing is read twice. Raises
        UnknownTaskError, InvalidTaskError, StoreUnavailableError.
        """
        read = partial(self._parts, check_id(task_id))
        return parts(partial(self._store.emitted, task_id), read, check_position(after))

    async def _parts(self, task_id: str, after: int) -> PartsPage:
        page = await self._call(self._store.emitted_parts, task_id, after)
        return page if page.state else replace(page, state=(await self.record(task_id, payloads=False)).state)

    async def service(self, lane: str, name: str = "") -> ServedState:
        """The workers that could run tasks of this lane and handler `name` ('' for tasks that name none) now."""
        [state] = await self._call(self._store.service, [(check_lane(lane), name if name == "" else check_name(name))])
        return state

    async def health_check(self) -> bool:
        """True if the store answers now."""
        try:
            await self._store.ping()
        except StoreUnavailableError:
            return False
        return True


def _failed(record: TaskRecord) -> TaskFailed:
    if record.refused:
        return _refused(record)
    error = record.error
    if error is None:
        return TaskFailed(record.task_id, record.state, record.reason)
    return TaskFailed(record.task_id, record.state, error.message, error.type, error.traceback)


def _refused(record: TaskRecord) -> TaskRefused:
    refused = TaskRefused(record.task_id, record.state, record.reason, TaskRefused.__name__)
    refused.word, refused.duplicate_of = record.refused, record.duplicate_of
    return refused
