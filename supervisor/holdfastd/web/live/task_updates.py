"""Follows one task: the steps of its history and the parts that it emits, as they come, until it has ended or asks for
input.

`task_updates(access, task_id, after)` is an async generator. Its first item may raise UnknownTaskError,
InvalidTaskError or StoreUnavailableError; later it waits while the store is away, and goes on, and raises
UnknownTaskError if the task is removed. Leave it with `contextlib.aclosing`.

    async with aclosing(task_updates(access, task_id)) as updates:
        async for update in updates:
            match update:
                case TaskChanged(record=record, steps=steps): ...   # record.state, record.result …
                case PartEmitted(part=part): ...                    # part.value

The store's record is the truth and is read again at each notice, so a lost notice costs a moment and no step. Each item
has a `position`: `str(position)` is an id for an event stream, and `TaskPosition.read(text)` of it, given as `after`,
goes on behind it, in any process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from holdfast.client.query import SETTLED, subscription
from holdfast.core.emitted_parts import EmittedPart
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import TrailStep, read_trail
from holdfast.errors import StoreUnavailableError
from holdfast.store.protocol import Store
from holdfastd.web.queue.queue_access import QueueAccess

LOOK_EVERY = 1.0  # seconds without a notice after which the record is read again: a claim gives no notice
RETRY_EVERY = 0.5  # seconds between two tries while the store is away


class TaskPosition(NamedTuple):
    """`at_ms`: of the last step; `steps`: how many of that millisecond; `part`: the position of the last part."""

    at_ms: int = 0
    steps: int = 0
    part: int = 0

    @classmethod
    def read(cls, text: str) -> Self:
        """The position of this text; raises ValueError for any other text."""
        numbers = text.split("-")
        if len(numbers) != 3 or not all(n.isascii() and n.isdigit() and len(n) < 17 for n in numbers):
            raise ValueError(f"{text[:50]!r}: a position such as 1700000000000-1-0 is expected")
        return cls(*map(int, numbers))

    def __str__(self) -> str:
        return f"{self.at_ms}-{self.steps}-{self.part}"


BEGINNING = TaskPosition()


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """The whole task at this moment, and the steps of its history since the change before: of a great many the latest.

    The first item is one of these, unless the task has already ended or asks for input: then it comes last, after all
    its parts. `steps` is empty if only its progress has changed, or nothing since the position that was asked for.
    """

    position: TaskPosition
    record: TaskRecord[Any]
    steps: tuple[TrailStep, ...]


@dataclass(frozen=True, slots=True)
class PartEmitted:
    """A part of an answer. One of a later run than the part before means that the task began anew."""

    position: TaskPosition
    part: EmittedPart


async def task_updates(
    access: QueueAccess, task_id: str, after: TaskPosition = BEGINNING
) -> AsyncGenerator[TaskChanged | PartEmitted]:
    """All that happens to a task behind a position, until it has ended or asks for input."""
    follower = _TaskFollower(access, task_id, after)
    wake = asyncio.Event()
    heeding = asyncio.create_task(_heed(access.store, task_id, wake))
    try:
        while not follower.is_over:
            wake.clear()
            try:
                async for update in follower.look():
                    yield update
            except StoreUnavailableError:
                if not follower.has_begun:
                    raise
                await asyncio.sleep(RETRY_EVERY)
                continue
            if not follower.is_over:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await wake.wait()
    finally:
        heeding.cancel()
        await asyncio.wait((heeding,))


async def _heed(store: Store, task_id: str, wake: asyncio.Event) -> None:
    """Sets `wake` at each notice of the task, and once the subscription stands."""
    while True:
        try:
            async with subscription(store.emitted(task_id)) as notices:
                async for _ in notices:
                    wake.set()
        except StoreUnavailableError:
            await asyncio.sleep(RETRY_EVERY)


@dataclass(slots=True)
class _TaskFollower:
    access: QueueAccess
    task_id: str
    position: TaskPosition
    is_over: bool = False
    _last: TaskRecord[Any] | None = field(default=None, init=False)  # without payloads

    @property
    def has_begun(self) -> bool:
        return self._last is not None

    async def look(self) -> AsyncGenerator[TaskChanged | PartEmitted]:
        """Everything new. The record is read before the parts, so those of a task that has settled are all there."""
        change = None
        if self._last is None or await self.access.store.get(self.task_id, payloads=False) != self._last:
            change = await self.access.manager.get_task(self.task_id)
            self._last = replace(change, operation=None, result=None, checkpoint=None)
            self.is_over = change.state in SETTLED
        if change and not self.is_over:
            yield self._changed(change)
        async for part in self._parts():
            yield part
        if change and self.is_over:
            yield self._changed(change)

    def _changed(self, record: TaskRecord[Any]) -> TaskChanged:
        steps = read_trail(record.trail)
        at_ms, count, part = self.position
        same = sum(step.at_ms == at_ms for step in steps)
        later = [step for step in steps if step.at_ms > at_ms]
        new = ([step for step in steps if step.at_ms == at_ms][count:] if same > count else []) + later
        if new:
            last = new[-1].at_ms
            self.position = TaskPosition(last, sum(step.at_ms == last for step in steps), part)
        return TaskChanged(self.position, record, tuple(new))

    async def _parts(self) -> AsyncGenerator[PartEmitted]:
        is_whole = False
        while not is_whole:
            page = await self.access.store.emitted_parts(self.task_id, self.position.part)
            for part in page.parts:
                self.position = self.position._replace(part=part.position)
                yield PartEmitted(self.position, part)
            if not page.parts:  # a store that has lost parts goes on from an earlier position
                self.position = self.position._replace(part=min(self.position.part, page.last))
            is_whole = page.is_whole
