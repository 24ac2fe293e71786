"""Reads one task, lists and counts tasks, and waits until tasks have ended or ask for input."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from holdfast.client.arguments import (
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
)
from holdfast.client.submit_retries import RepeatedCalls
from holdfast.client.task_filter import TaskFilter, WantedTasks, listing_of
from holdfast.core.delivery import EmittedPart, PartsPage
from holdfast.core.progress import Progress
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Page, TaskRecord, TextSearch, as_it_is
from holdfast.core.worker_records import ServedState
from holdfast.errors import StoreUnavailableError, TaskFailed, TaskRefused, UnknownTaskError

if TYPE_CHECKING:
    from typing import Unpack

    from holdfast.store import Store


# Wait until tasks have ended or ask for input, by the store's notices and not by polling.
#
# The subscription begins before the first read of the tasks, so no end is missed between the two. After a while without
# a notice the caller subscribes again and reads all tasks again. So a notice that was lost with a connection only
# delays the answer by seconds.

SETTLED = TERMINAL | {State.INPUT_REQUIRED, State.AUTH_REQUIRED}
QUIET = 5.0  # seconds without a notice after which the tasks are read again
LOOKS_PER_SECOND = 200  # tasks read in a second, at most: the more tasks there are, the longer the quiet time

Get = Callable[[str, bool], Awaitable[TaskRecord]]


async def outcomes(
    store: Store, get: Get, task_ids: Iterable[str], quiet: float = QUIET
) -> AsyncGenerator[TaskRecord, None]:
    """Yield the records of these tasks in the given order, each once its task has ended or asks for input. `get(id,
    payloads)` retries while the store is away, and raises for an unknown task. After `quiet` seconds without a notice
    all tasks are read again.
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
            # The subscription broke. `get` retries until the store is back, or gives up.
            await get(next(iter(waiting)), False)


async def next_notice(notices: AsyncIterator[str], seconds: float) -> str | None:
    """The next notice; None if none comes within `seconds`. After this has returned None, `notices` cannot be used any
    more."""
    with anyio.move_on_after(seconds):
        return await anext(notices, None)
    return None


@asynccontextmanager
async def subscription(notices: AsyncIterator[str]) -> AsyncGenerator[AsyncIterator[str], None]:
    """A context manager: its block gets these notices, and the subscription ends with the block."""
    try:
        yield notices
    finally:
        if isinstance(notices, AsyncGenerator):
            await notices.aclose()


# Follow the parts that a task emits until the task ends: first the parts that the store has kept, then new ones.
#
# A notice of the store leads to a read of all parts after the last position. So a lost notice delays parts and loses
# none, and a slow reader gets many parts in one read. After a while without a notice the caller subscribes again and
# reads the store again.

Notices = Callable[[], AsyncIterator[str]]
Read = Callable[[int], Awaitable[PartsPage]]


async def parts(notices: Notices, read: Read, after: int, quiet: float = QUIET) -> AsyncGenerator[EmittedPart]:
    """Yield the parts of a task after the position `after`, until the task has ended or asks for input.
    `read(position)` retries while the store is away, and raises for an unknown task."""
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
                        # A store that has lost its latest writes counts on from an earlier position.
                        position = page.parts[-1].position if page.parts else min(position, page.last)
        except StoreUnavailableError:
            await read(position)  # the subscription broke; this retries until the store is back, or gives up


# Follow the progress of a task in the same way, until the task ends.


async def progress_of(
    notices: Notices, get: Callable[[], Awaitable[TaskRecord]], quiet: float = QUIET
) -> AsyncGenerator[Progress]:
    """Yield the progress of a task whenever it has changed, until the task has ended or asks for input. `get()` retries
    while the store is away, and raises for an unknown task."""
    shown = ""
    while True:
        try:
            async with subscription(notices()) as told:
                while await next_notice(told, quiet) is not None:
                    record = await get()
                    if record.bar is not None and record.progress != shown:
                        shown = record.progress
                        yield record.bar
                    if record.state in SETTLED:
                        return
        except StoreUnavailableError:
            await get()  # the subscription broke; this retries until the store is back, or gives up


STEP = 100  # tasks: for each 100 tasks asked for, a page may take one more call of the store
NOT_COMPLETED = TERMINAL - {State.COMPLETED}


class TaskQueries(RepeatedCalls):
    """The calls of TaskManager that change nothing."""

    async def get_task(self, task_id: str) -> TaskRecord:
        """The task's record with payloads. Raises UnknownTaskError."""
        return await self.record(task_id, payloads=True)

    async def record(self, task_id: str, payloads: bool) -> TaskRecord:
        """The task's record, with or without payloads (its message, history and result). Raises UnknownTaskError."""
        record = await self._call(self._store.get, check_id(task_id), payloads=payloads)
        if record is None:
            raise UnknownTaskError(f"no task {task_id}; a task that ended long ago is forgotten")
        return record

    async def list_tasks(
        self,
        *states: State | str,
        state: State | str | None = None,
        limit: int = 100,
        cursor: str = "",
        **wanted: Unpack[WantedTasks],
    ) -> Page:
        """A page of tasks without payloads. Filters are states, lane, handler's name, batch, `owner` (the incarnation
        of the worker that runs the task), `error` (the id of a kind of errors), and age: accepted at least `older_than`
        and at most `newer_than` seconds ago.
        `newest_first`: within a state the newest first, else in the order of the queue.

        The page's cursor continues the list; at the end it is empty. One call reads a bounded number of tasks. So a
        page may hold fewer than `limit` tasks, even none, and still have a cursor. A task that changes its state while
        you read the list may be missing or appear twice.
        """
        given = listing_of(states if state is None else (*states, state), **wanted)
        return await self.find(given, limit, cursor, newest_first=given.newest_first)

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
        """A page of the tasks that contain a text; the filters are those of `list_tasks`. The search looks at the id,
        the handler's name, the reason, and the first 64 KiB of the latest turn's arguments, result or error. Case does
        not matter. The page's `searched` is the number of tasks that were read. `shown` gets a JSON value before the
        search and returns it without the parts that the reader may not see."""
        given = listing_of(states if state is None else (*states, state), check_text(text), **wanted)
        return await self.find(given, limit, cursor, newest_first=given.newest_first, shown=shown)

    async def find(
        self,
        given: TaskFilter,
        limit: int,
        cursor: str,
        *,
        newest_first: bool,
        shown: Callable[[Any], Any] = as_it_is,
    ) -> Page:
        """A page of the tasks that a filter finds, collected by several calls of the store. `shown`: see
        `search_tasks`."""
        wanted = given.wanted(newest_first=newest_first)
        read = partial(self._store.tasks, wanted)
        if given.text is not None:
            read = partial(self._store.search, wanted, TextSearch(given.text, shown))
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
        """The number of tasks in these states; without states, the number of all tasks."""
        wanted = check_states(states) or tuple(State)
        counts = await self._call(self._store.counts)
        return sum(counts.states.get(state, 0) for state in wanted)

    async def wait(
        self,
        task_id: str,
        timeout: float | None = None,
        *,
        raise_failed: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> TaskRecord:
        """Wait until the task has ended or asks for input; returns its record. `on_progress` is called whenever the
        handler has shown progress (`task.progress`), at most ten times a second. Raises TimeoutError after `timeout`
        seconds. With `raise_failed`, raises TaskFailed if the task has failed, was rejected or was canceled. The error
        is a TaskRefused if the task was accepted while Redis was away and Redis refused it later."""
        if timeout is not None:
            check_seconds("timeout", timeout)
        check_flag("raise_failed", raise_failed)
        settled = self.wait_all([task_id])
        with anyio.move_on_after(timeout):
            if on_progress is not None:
                async with aclosing(self.progress(task_id)) as shown:
                    async for progress in shown:
                        on_progress(progress)
            async with aclosing(settled):
                record = await anext(settled)
            if raise_failed and record.state in NOT_COMPLETED:
                raise _failed(record)
            return record
        raise TimeoutError(f"task {task_id} has not ended within {timeout:g} s")

    def wait_all(self, task_ids: Iterable[str]) -> AsyncGenerator[TaskRecord, None]:
        """Yield the records of these tasks in the given order, each once its task has ended or asks for input."""
        return outcomes(self._store, self.record, check_ids(task_ids))

    def stream(self, task_id: str, *, after: int = 0) -> AsyncGenerator[EmittedPart]:
        """Yield the parts that the task emits (`task.emit`), until the task has ended or asks for input. The parts that
        the store has kept after the position `after` come first (0: all of them), then new ones. A part names its run;
        a higher run than in the part before means that the task began anew. A gap in the positions means that the store
        has dropped parts. After a lost connection the stream goes on, and no part comes twice. Raises UnknownTaskError,
        InvalidTaskError, StoreUnavailableError.
        """
        read = partial(self._parts, check_id(task_id))
        return parts(partial(self._store.emitted, task_id), read, check_position(after))

    def progress(self, task_id: str) -> AsyncGenerator[Progress]:
        """Yield the progress that the task's handler shows (`task.progress`), first the present one, until the task has
        ended or asks for input. If the handler shows progress more than ten times a second, only the latest is yielded.
        Raises UnknownTaskError, InvalidTaskError, StoreUnavailableError."""
        get = partial(self.record, check_id(task_id), payloads=False)
        return progress_of(partial(self._store.emitted, task_id), get)

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
        refused = TaskRefused(record.task_id, record.state, record.reason, TaskRefused.__name__)
        refused.word, refused.duplicate_of = record.refused, record.duplicate_of
        return refused
    if (error := record.error) is None:
        return TaskFailed(record.task_id, record.state, record.reason)
    return TaskFailed(record.task_id, record.state, error.message, error.type, error.traceback)
