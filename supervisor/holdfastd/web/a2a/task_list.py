"""A page of tasks for clients of the agent; the task that changed last comes first."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain, islice

import msgspec

from holdfast.core.conversations import changed_ms
from holdfast.core.task_states import PARKED, TERMINAL, State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import HoldfastError
from holdfastd.a2a.agent_task import AgentTask, Listing
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.web.queue.queue_access import QueueAccess

# A page of all tasks of the queue. The task that changed last comes first.
#
# The store has one list for each group of states. Ended and parked tasks are in the order in which they came to their
# state. Tasks that wait for a worker are listed by lane, in the order of submission. Delayed and waiting tasks are in
# the order in which they are due. Few tasks work at a time: this module sorts them. A page merges the fronts of these
# lists. Its token has the place in each list at which the next page begins.

MOST_WORKING = 1000  # working tasks: they are read one by one and sorted for each page
MOST_SEARCHED = 10_000  # tasks of one list that are searched for those that changed since a time
STEP = 100  # tasks of a list that are read at once

_PLACES = msgspec.json.Decoder(dict[str, str])
_BY_STATE = {
    "working": frozenset({State.WORKING}),
    "delayed": frozenset({State.DELAYED}),
    "waiting": frozenset({State.WAITING}),
    "parked": frozenset(PARKED),
    "ended": frozenset(TERMINAL),
}
_BY_MOMENT = frozenset({"ended", "parked"})  # lists whose first task came to its state last


@dataclass(frozen=True, slots=True)
class _Front:
    """The tasks of a list that follow a position. `rest`: the position behind these tasks; empty at the end of the
    list.

    `behind_first`: the position behind the first `first` tasks (0 or 1). Later positions are counted from this one, so
    that new tasks at the head of the list do not shift them.
    """

    name: str
    records: list[TaskRecord]
    rest: str
    first: int = 0
    behind_first: str = ""


@dataclass(frozen=True, slots=True)
class QueueOrder:
    access: QueueAccess
    states: Sequence[State]

    async def page(self, size: int, token: str) -> tuple[list[TaskRecord], str]:
        """Up to `size` tasks without payloads, and the token of the next page, empty after the last page. Raises
        RpcError for an invalid token."""
        places = _read(token) if token else dict.fromkeys(await self._lists(), "")
        fronts = await asyncio.gather(*(self._front(name, place, size) for name, place in places.items()))
        chosen = list(islice(merge(*map(_by_change, fronts), reverse=True, key=lambda each: each[0]), size))
        taken = {front.name: sum(name == front.name for _, name, _ in chosen) for front in fronts}
        left = [await self._place_behind(front, places[front.name], taken[front.name]) for front in fronts]
        after = {front.name: place for front, place in zip(fronts, left, strict=True) if place is not None}
        return [record for _, _, record in chosen], _spelled(after) if after else ""

    async def changed_since(self, since_ms: int) -> list[TaskRecord]:
        """All tasks that came to their present state at this Unix time or later; the task that changed last comes
        first. Only the first MOST_SEARCHED tasks of a list are searched."""
        found = await asyncio.gather(*(self._changed_since(name, since_ms) for name in await self._lists()))
        return sorted(chain.from_iterable(found), key=place_of, reverse=True)

    async def _changed_since(self, name: str, since_ms: int) -> list[TaskRecord]:
        found, place = list[TaskRecord](), ""
        for _ in range(MOST_SEARCHED // STEP):
            listed, place = await self._listed(name, place, STEP)
            records = listed if name == "ended" else await self._with_trails(listed)
            found += (each for each in records if changed_ms(each) >= since_ms)
            is_past = name in _BY_MOMENT and records and changed_ms(records[-1]) < since_ms
            if is_past or not place:
                break
        return found

    async def _lists(self) -> list[str]:
        """The names of the lists that may hold tasks in one of the wanted states."""
        wanted = frozenset(self.states or State)
        found = [name for name, states in _BY_STATE.items() if states & wanted]
        if State.SUBMITTED in wanted:
            found += [f"lane {lane}" for lane in (await self.access.store.counts()).lanes]
        return found

    async def _front(self, name: str, place: str, size: int) -> _Front:
        if name == "working":
            return await self._working(place, size)
        head, behind_first = await self._listed(name, place, 1)
        others, rest = await self._listed(name, behind_first, size) if behind_first else ([], "")
        records = head + others
        if name in ("delayed", "waiting", "parked"):
            records = await self._with_trails(records)
        return _Front(name, records, rest, len(head), behind_first)

    async def _with_trails(self, records: Sequence[TaskRecord]) -> list[TaskRecord]:
        """Read the tasks again, with their histories (trails). The history says when a task came to its present
        state."""
        found = await asyncio.gather(*(self.access.store.get(each.task_id, payloads=False) for each in records))
        return [whole or listed for whole, listed in zip(found, records, strict=True)]

    async def _listed(self, name: str, place: str, size: int) -> tuple[list[TaskRecord], str]:
        """Up to `size` tasks of a list from the position `place` on, and the position behind them. There are fewer at
        the end of the list, or if few tasks are in the wanted states."""
        kind, _, lane = name.partition(" ")
        states = (State.SUBMITTED,) if lane else tuple(_BY_STATE[kind] & frozenset(self.states or State))
        records = list[TaskRecord]()
        for _ in range(MOST_SEARCHED // STEP):
            page = await self.access.manager.list_tasks(
                *states, lane=lane or None, limit=size - len(records), cursor=place, newest_first=True
            )
            records += page.tasks
            place = page.cursor
            if not place or len(records) >= size:
                break
        return records, place

    async def _working(self, place: str, size: int) -> _Front:
        """The working tasks behind the position `place`: the text that `place_of` has made of the last task of the page
        before."""
        listed, _ = await self._listed("working", "", MOST_WORKING)
        found = await asyncio.gather(*(self.access.store.get(each.task_id, payloads=False) for each in listed))
        records = sorted((each for each in found if each), key=place_of, reverse=True)
        behind = [each for each in records if not place or place_of(each) < place]
        front = behind[:size]
        return _Front("working", front, place_of(front[-1]) if len(behind) > size else "")

    async def _place_behind(self, front: _Front, place: str, taken: int) -> str | None:
        """The position behind the first `taken` tasks of `front`, whose tasks begin at the position `place`. None at
        the end of the list."""
        if taken == len(front.records):
            return front.rest or None
        if taken == 0:
            return place
        if front.name == "working":
            return place_of(front.records[taken - 1])
        return await self._place_in(front, taken)

    async def _place_in(self, front: _Front, taken: int) -> str | None:
        """The position behind the last one of the first `taken` tasks that is still in the list; None at the end of the
        list."""
        ids = {record.task_id for record in front.records[:taken]}
        size = taken - front.first
        while size > 0:
            records, place = await self._listed(front.name, front.behind_first, size)
            still = [number for number, record in enumerate(records, 1) if record.task_id in ids]
            if not still:
                break
            if still[-1] == len(records):
                return place or None
            size = still[-1]  # some of the taken tasks have left the list, and later tasks have moved up
        return front.behind_first


def _by_change(front: _Front) -> Iterator[tuple[int, str, TaskRecord]]:
    return ((changed_ms(record), front.name, record) for record in front.records)


def place_of(record: TaskRecord) -> str:
    """A text with the time of the task's last change and its id. The texts sort in the order of these times."""
    return f"{changed_ms(record):015} {record.task_id}"


def _spelled(places: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(places)).decode()


def _read(token: str) -> dict[str, str]:
    try:
        places = _PLACES.decode(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        places = {}
    if not places or not all(name in _BY_STATE or name.removeprefix("lane ") not in ("", name) for name in places):
        raise RpcError(RpcCode.INVALID_PARAMS, "give the nextPageToken of the previous page as pageToken")
    return places


MOST = 1000  # newest tasks of one context that a list can show

_PLACE = re.compile(r"\d{15} .+")
_Cut = tuple[list[TaskRecord], str, int]  # a page of tasks, its token, and how many there are on all pages

View = Callable[[str], Awaitable[AgentTask]]


async def listed(access: QueueAccess, wanted: Listing, view: View) -> tuple[list[AgentTask], str, int]:
    """The tasks of a page, the token of the next page (empty after the last one), and the number of tasks on all pages.
    Raises RpcError for an invalid token."""
    records, token, total = await (_of_context if wanted.context_id else _of_queue)(access, wanted)
    tasks = [task for task in await asyncio.gather(*(_view(view, record) for record in records)) if task is not None]
    tasks.sort(key=lambda task: task.status.at_ms, reverse=True)
    shown = [task.shortened(wanted.history_length) for task in tasks]
    return shown if wanted.with_artifacts else [replace(task, artifacts=()) for task in shown], token, total


async def _of_queue(access: QueueAccess, wanted: Listing) -> _Cut:
    order = QueueOrder(access, wanted.states)
    if wanted.since_ms is not None:
        return _page_of(await order.changed_since(wanted.since_ms), wanted)
    records, token = await order.page(wanted.size, wanted.token)
    return records, token, await access.manager.count_tasks(*wanted.states)


async def _of_context(access: QueueAccess, wanted: Listing) -> _Cut:
    """A page of the last MOST tasks that clients have sent in this context."""
    context = await access.store.conversation(wanted.context_id)
    ids = list(context.task_ids)[-MOST:] if context else []
    found = await asyncio.gather(*(access.store.get(task_id, payloads=False) for task_id in ids))
    records = [each for each in found if each is not None and (not wanted.states or each.state in wanted.states)]
    return _page_of([each for each in records if changed_ms(each) >= (wanted.since_ms or 0)], wanted)


def _page_of(records: list[TaskRecord], wanted: Listing) -> _Cut:
    """The next page of these tasks; the task that changed last comes first. A token names the last task of the page
    before. So a task that changes between two pages, and moves to the front, does not shift later pages. Raises
    RpcError."""
    if wanted.token and not _PLACE.fullmatch(wanted.token):
        raise RpcError(RpcCode.INVALID_PARAMS, "give the nextPageToken of the previous page as pageToken")
    places = sorted(((place_of(each), each) for each in records), key=lambda placed: placed[0], reverse=True)
    behind = [placed for placed in places if not wanted.token or placed[0] < wanted.token]
    page = behind[: wanted.size]
    token = page[-1][0] if len(behind) > wanted.size else ""
    return [each for _, each in page], token, len(records)


async def _view(view: View, record: TaskRecord) -> AgentTask | None:
    """The view of a task; None if the task was deleted in the meantime."""
    try:
        return await view(record.task_id)
    except (RpcError, HoldfastError):
        return None
