"""The Redis calls that read, retry and delete the records of tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from holdfast.core.counts import Obliterated
from holdfast.core.delivery import PartsPage, read_batch
from holdfast.core.outcomes import MOST_PARENT_BYTES, ParentResult
from holdfast.core.steps import StepHead, StepRecord, read_head, read_step
from holdfast.core.task_states import State
from holdfast.core.tasks import (
    Page,
    PlaceInLane,
    Retried,
    RetryAnswer,
    TaskIds,
    TaskObstacle,
    TaskOutline,
    TaskRecord,
    TextSearch,
    Wanted,
)
from holdfast.store.redis import decode
from holdfast.store.redis.connection import DAMAGED, RedisPart, given

T = TypeVar("T")
_RETRIED: dict[str, Retried | State | TaskObstacle] = {str(word): word for word in (*Retried, *State, *TaskObstacle)}


class RedisTasks(RedisPart):
    """The calls that read, retry and delete the records of tasks."""

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None:
        """The record of a task; None for an unknown task. Without `payloads`, the record lacks operation, result and
        history."""
        answer = await self._run("show", task_id, int(payloads))
        if answer == DAMAGED.encode():
            await self.connection.refuse_damaged(task_id)
        return decode.task_record(task_id, answer) if answer else None

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """A page of the tasks that match the filter, without payloads. While tasks change their states, a list may miss
        a task or contain it twice."""
        return decode.page(await self._run("list", *self._asked(wanted, "", limit, cursor)))

    async def search(self, wanted: Wanted, search: TextSearch, limit: int, cursor: str = "") -> Page:
        """Like `tasks`, but only tasks that contain a text (see core/tasks.py). One call is one step: it reads at
        most some hundred tasks and half a megabyte of their texts. So a page may be empty and still have a cursor."""
        answer = await self._run("search", *self._asked(wanted, search.probe, limit, cursor))
        return decode.page_of_found(answer, search)

    def _asked(self, wanted: Wanted, text: str, limit: int, cursor: str) -> Iterator[str | int | float | bytes]:
        """The arguments of the scripts that list and search tasks."""
        yield from (decode.read_cursor(cursor), limit, self._keys.name(wanted.lane) if wanted.lane else "", wanted.name)
        yield from (given(ms) for ms in (wanted.older_ms, wanted.newer_ms))
        yield from (wanted.batch, wanted.owner, wanted.error, int(wanted.newest_first), text)
        yield from wanted.states or tuple(State)

    async def task_ids(self, beginning: str, cursor: str, page: int) -> TaskIds:
        """The task ids that start with `beginning`, among the next `page` keys of Redis."""
        following, ids = await self._run("known", cursor or "0", page, beginning)
        return TaskIds(tuple(each.decode() for each in ids), "" if following == b"0" else following.decode())

    async def place(self, task_id: str) -> PlaceInLane | None:
        """The place of a submitted task in its lane; None for any other task."""
        answer = await self._run("place", task_id)
        if not answer:
            return None
        before, exact = answer
        return PlaceInLane(None if before < 0 else before, exact == 1)

    async def steps(self, task_id: str, first: int = 0) -> tuple[tuple[StepRecord, ...], int | None]:
        """The recorded steps of a task, beginning at the place `first`, as many as one answer holds. Also the place of
        the next step, None if there are no more."""
        following, *flat = await self._run("steps", task_id, first)
        found = zip(flat[::2], flat[1::2], strict=True)
        return tuple(read_step(place, text) for place, text in found), None if following < 0 else following

    async def recorded_steps(self, task_id: str) -> list[StepRecord]:
        """All steps of the task, in the order of their places."""
        return await _all_pages(partial(self.steps, task_id))

    async def parents(
        self, task_id: str, first: int = 1, *, results: bool = True
    ) -> tuple[tuple[ParentResult, ...], int | None]:
        """The parents of a task, in the order of `after`, beginning at the place `first`, as many as one answer holds.
        Also the place of the next parent, None if there are no more."""
        following, *flat = await self._run("parents_of", task_id, first, int(results))
        found = tuple(decode.parent_result(*flat[at : at + 6]) for at in range(0, len(flat), 6))
        return found, None if following < 0 else following

    async def results_of_parents(self, task_id: str, most_bytes: int = MOST_PARENT_BYTES) -> dict[str, ParentResult]:
        """All parents of the task by id, in the order of `after`. Once the results read so far take `most_bytes`,
        further parents come without their results."""
        found, left = dict[str, ParentResult](), most_bytes
        following: int | None = 1
        while following is not None:
            page, following = await self.parents(task_id, following, results=left > 0)
            for parent in page:
                left -= parent.size
                found[parent.task_id] = parent
        return found

    async def emitted_parts(self, task_id: str, after: int) -> PartsPage:
        """The parts of a task behind a position, as many as one answer holds."""
        state, last, more, *batches = await self._run("parts", task_id, after)
        found = (part for batch in batches for part in read_batch(batch))
        return PartsPage(
            decode.state_of(state), last, more == 0, tuple(part for part in found if part.position > after)
        )

    async def step_names(self, task_id: str, first: int = 0) -> tuple[tuple[StepHead, ...], int | None]:
        """The names and sizes of a task's steps, in pages like those of `steps`. This also finds steps of tasks that
        only the ledger remembers."""
        following, *flat = await self._run("step_names", task_id, first)
        found = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return tuple(read_head(*each) for each in found), None if following < 0 else following

    async def names_of_steps(self, task_id: str) -> list[StepHead]:
        """The names of all steps of the task, in the order of their places."""
        return await _all_pages(partial(self.step_names, task_id))

    async def children(self, task_id: str, limit: int) -> tuple[int, tuple[str, ...]]:
        """The number of the task's children that the store still has, and the ids of the first of these children."""
        number, *ids = await self._run("children", task_id, limit)
        return number, tuple(each.decode() for each in ids)

    async def outlines(self, task_ids: Sequence[str], most_bytes: int) -> dict[str, TaskOutline]:
        """The outlines of these tasks, at most a hundred, by task id. An outline has at most the first `most_bytes` of
        the task's operation."""
        if not task_ids:
            return {}
        found = await self._run("outlines", most_bytes, *task_ids)
        return {task_id: decode.outline(*each) for task_id, each in zip(task_ids, found, strict=True)}

    async def retry(self, task_id: str, reason: str, change: str = "") -> RetryAnswer:
        """Run a failed, rejected or canceled task again, as a new task; submit a delayed task now. `change`: the bulk
        change that asks for the retry. A bulk change does not retry the same task twice."""
        word, new = await self._run_whole("retry", task_id, reason, change)
        while word == b"more":  # the history of a task of many turns is copied in several steps
            word, new = await self._run_whole("retry", task_id, reason, change)
        if word == DAMAGED.encode():
            await self.connection.refuse_damaged(task_id, new.decode())
        return RetryAnswer(decode.known_word(_RETRIED, task_id, word), new.decode())

    async def dead_letters(self, limit: int, cursor: str = "", before_ms: int | None = None) -> Page:
        """A page of dead letters that were not retried, without payloads, newest first. `before_ms`: only tasks that
        became dead letters up to this moment. While dead letters come and go, a page may repeat or miss one."""
        start = decode.read_position(cursor)
        newest = "+inf" if before_ms is None else before_ms
        span = (newest, "-inf", "BYSCORE", "REV", "LIMIT", start, limit + 1)
        ids: list[bytes] = await self._command("ZRANGE", self._keys["dead"], *span)
        ids, following = decode.page_of(ids, start, limit)
        answers = [(task_id, await self._run("show", task_id, 0)) for task_id in ids]
        tasks, unreadable = decode.readable((task_id, answer) for task_id, answer in answers if answer)
        return Page(tasks, following, unreadable)

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        """Delete the dead letters in this list of tasks; returns their number."""
        return int(await self._run_whole("purge_dead", *task_ids))

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        """Delete the tasks in this list that have ended, with all their data; returns their number."""
        return int(await self._run_whole("forget_tasks", *task_ids))

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Delete tasks that ended more than `keep_ms` ago; returns their number."""
        return await self._number("trim", keep_ms, limit, "")

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        """Do one step of deleting all data of the queue, with its schedules and the settings of its lanes. `cursor`: ''
        to begin."""
        following, number = await self._run("obliterate", cursor or "0", page, int(force))
        if following == b"busy":
            return Obliterated(0, "", number)
        return Obliterated(number, "" if following == b"0" else following.decode())


async def _all_pages(read: Callable[[int], Awaitable[tuple[tuple[T, ...], int | None]]]) -> list[T]:
    """The items of all pages. `read(place)` returns the page that begins at this place, and the place of the next
    page."""
    found = list[T]()
    following: int | None = 0
    while following is not None:
        page, following = await read(following)
        found += page
    return found
