"""The work of `submit`: tasks go in window by window; with a wait, outcomes come out while later ones still go in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

import anyio

from holdfast.client.manager import TaskManager
from holdfast.client.submission import refusal
from holdfast.core.plurals import counted
from holdfast.core.served import ServedState
from holdfast.core.task_states import State
from holdfast.core.tasks import Accepted, Receipt, Submission, TaskRecord
from holdfast.errors import HoldfastError, InvalidTaskError, StoreError, StoreRefusedError
from holdfastd.cli.submit.task_sources import BadLineError, Item

WINDOW = 500  # tasks submitted, and then waited for, together
PLACES = 20  # lanes and handlers that are looked at
WINDOWS = 8  # waited for at once: each has a subscription of its own
FAILURES = frozenset({State.FAILED, State.REJECTED, State.CANCELED})


@dataclass
class Tally:
    """What has happened so far; `line`: the last one whose task was accepted; `places`: lanes and handlers
    that were looked at."""

    accepted: int = 0
    refused: int = 0
    unfit: int = 0  # of those, because of the store
    settled: int = 0
    failed: int = 0
    line: int = 0
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def upto(self) -> str:
        """What of a stream need not be submitted again; empty where there is nothing to tell."""
        if not self.line:
            return ""
        known = f"; {self.settled} settled" if self.settled else ""
        return f"up to line {self.line} all were accepted ({counted(self.accepted, 'task')}), perhaps more{known}"


@dataclass(frozen=True, slots=True)
class SubmitListener:
    """Who is told: tasks that were accepted, who serves the lane and the handler of some, what was refused, and records
    (None: nobody waits for those)."""

    accepted: Callable[[Sequence[Receipt]], None]
    placed: Callable[[ServedState], None]
    refused: Callable[[HoldfastError], None]
    settled: Callable[[TaskRecord], None] | None


async def submit_all(
    manager: TaskManager, items: AsyncIterator[Sequence[Item]], listener: SubmitListener, tally: Tally
) -> BadLineError | None:
    """Submit everything. Answers the line that ended it, if one is no task: nothing of its chunk is submitted."""
    room = anyio.Semaphore(WINDOWS)
    async with anyio.create_task_group() as waiters:
        try:
            async for chunk in items:
                for start in range(0, len(chunk), WINDOW):
                    ids = await _submit(manager, chunk[start : start + WINDOW], listener, tally)
                    if listener.settled:
                        await room.acquire()
                        waiters.start_soon(_wait, manager, ids, listener.settled, tally, room)
        except BadLineError as error:
            return error
    return None


async def _submit(manager: TaskManager, window: Sequence[Item], listener: SubmitListener, tally: Tally) -> list[str]:
    batch = [_prepared(manager, item) for item in window]
    receipts: list[Receipt] = []
    new: list[Submission] = []
    for one, answer in zip(batch, await manager.submit(batch), strict=True):
        if error := refusal(one, answer):
            tally.refused += 1
            tally.unfit += isinstance(error, StoreRefusedError)
            listener.refused(error)
        else:
            receipts.append(answer)
            new += [one] if answer.accepted is Accepted.NEW else []
    tally.accepted += len(receipts)
    tally.line = window[-1].number
    listener.accepted(receipts)
    await _warn(manager, new, listener, tally)
    return list(dict.fromkeys(receipt.task_id for receipt in receipts))


async def _warn(manager: TaskManager, new: Sequence[Submission], listener: SubmitListener, tally: Tally) -> None:
    """Tell, once for each lane and handler, that nobody takes from there; what was accepted stays accepted."""
    for place in dict.fromkeys((one.lane, one.name) for one in new):
        if place not in tally.places and len(tally.places) < PLACES:
            tally.places.add(place)
            with suppress(StoreError):
                listener.placed(await manager.service(*place))


def _prepared(manager: TaskManager, item: Item) -> Submission:
    try:
        return manager.prepare(item.spec)
    except InvalidTaskError as error:
        if item.number:
            raise BadLineError(item.number, error) from None
        raise


async def _wait(
    manager: TaskManager,
    ids: Sequence[str],
    settled: Callable[[TaskRecord], None],
    tally: Tally,
    room: anyio.Semaphore,
) -> None:
    async with aclosing(manager.wait_all(ids)) as records:
        async for record in records:
            tally.settled += 1
            tally.failed += record.state in FAILURES
            settled(record)
    room.release()
