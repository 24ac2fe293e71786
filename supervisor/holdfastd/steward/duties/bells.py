"""Rings bells, which wake workers, for producers that push to a lane and do not ring: the steward waits for an entry in
each lane, and rings.

While a lane is empty, the duty waits in `peek`, a read that blocks and changes nothing. For an entry of another
program, the duty rings at once. Holdfast's producers ring themselves. For their entries the duty rings only if entries
are still there 30 ms later, because a bell may be lost. If no worker takes the bells, all workers are busy and will
find the entries themselves. Then the duty checks less and less often. It does the same if the lane may start no task.
If workers take the bells, workers are idle, and a new entry needs a bell soon. If entries wait, the duty also checks
for pushes at the wrong end.

The duty of a lane blocks one connection in `peek`, so only the first MOST_PEEKS lanes have a duty of their own. One
duty checks all other lanes every 200 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import inf
from uuid import uuid4

import anyio
import structlog

from holdfast.core.envelope import is_own
from holdfast.core.lanes import wrong_end_mend
from holdfast.core.store_info import MOST_PEEKS, LaneHead
from holdfast.core.words import counted
from holdfast.store import Store
from holdfastd.steward.duty import Duty

# WrongEndDetector detects producers that push at the end from which a lane is served: new entries overtake old ones.
#
# While entries wait in a lane, it compares the lane's front with the front at the previous check. The store counts the
# entries that were pushed there. It counts an entry once, however many stewards check. `status` and `doctor` show this
# count. The log names the remedy, once an hour while such pushes continue.

WARN_EVERY = 3600.0  # seconds

_log = structlog.get_logger("holdfast.steward")


class WrongEndDetector:
    """Notices producers that push at the wrong end of one lane's list: the end from which workers take tasks. `now`:
    monotonic seconds."""

    def __init__(self, store: Store, lane: str, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._lane = lane
        self._now = now
        self._id = uuid4().hex
        self._front = LaneHead()
        self._told = -inf

    async def look(self) -> None:
        before, self._front = self._front, await self._store.look_at_front(self._lane, self._front)
        if not self._front.pushed or self._front.turned != before.turned:
            return
        count = await self._store.note_wrong_end(self._lane, self._front, self._id)
        if count and self._now() - self._told >= WARN_EVERY:
            self._told = self._now()
            mend = wrong_end_mend(self._lane, turned=self._front.turned)
            _log.warning(
                "a producer pushes at the end from which the lane is served", lane=self._lane, seen=count, remedy=mend
            )


PEEK_FOR = 15.0  # seconds: the longest delay if the connection died silently
FIRST_PAUSE, LAST_PAUSE = 0.002, 0.2  # seconds
TRUSTING_PAUSE = 0.016  # seconds: up to this pause, an entry of our producers counts as rung by its producer
REST = 0.005  # seconds: a lane that was empty for longer is at rest
TELLING = 256  # bytes: the first ones of an entry, which differ between two entries of our producers
LOOKED_AT_ONCE = 500  # lanes in one call, which takes one or two milliseconds of the server


def bells(store: Store, lanes: Sequence[str]) -> Iterator[Duty]:
    """Make the duties that ring the bells of these lanes."""
    for lane in lanes[:MOST_PEEKS]:
        yield Bell(store, lane).duty()
    if lanes[MOST_PEEKS:]:
        yield rings(store, lanes[MOST_PEEKS:])


def rings(store: Store, lanes: Sequence[str]) -> Duty:
    """Make one duty for all these lanes: it rings the bell of each lane that holds an entry."""

    async def run_once() -> float:
        for first in range(0, len(lanes), LOOKED_AT_ONCE):
            await store.ring(*lanes[first : first + LOOKED_AT_ONCE])
        return LAST_PAUSE

    return Duty(f"bells of {counted(len(lanes), 'lane')}", run_once)


class Bell:
    def __init__(self, store: Store, lane: str) -> None:
        self._store = store
        self._lane = lane
        self._pause = FIRST_PAUSE
        self._empty = True
        self._head = b""  # the first bytes of the entry that ended the last peek
        self._wrong_end = WrongEndDetector(store, lane)

    def duty(self) -> Duty:
        return Duty(f"bell of {self._lane}", self.run_once, self.wait)

    async def run_once(self) -> float:
        """Check the lane once, and ring if it holds an entry. Returns the seconds until the next check; 0: the lane is
        empty, wait for an entry."""
        if self._is_rung():
            pause, self._pause = self._pause, 2 * self._pause
            return pause
        self._head = b""
        waiting, unrung = await self._store.ring(self._lane)
        self._empty = waiting == 0
        if self._empty:
            self._pause = FIRST_PAUSE
            return 0.0
        pause = self._pause
        if pause == LAST_PAUSE:  # entries wait: workers do not take them as they arrive
            await self._wrong_end.look()
        self._pause = min(2 * pause, LAST_PAUSE) if unrung else FIRST_PAUSE
        return pause

    async def wait(self, seconds: float) -> None:
        if seconds:
            await anyio.sleep(seconds)
        if self._empty:
            await self._peek()

    def _is_rung(self) -> bool:
        """True if an entry has just arrived in the empty lane, from a producer of Holdfast, which rings the bell
        itself."""
        return is_own(self._head) and self._pause <= TRUSTING_PAUSE

    async def _peek(self) -> None:
        before, began = self._head, anyio.current_time()
        entry = await self._store.peek(self._lane, PEEK_FOR) or b""
        self._head = entry[:TELLING]
        has_rested = self._head != before and anyio.current_time() - began > REST
        if has_rested or not is_own(entry):
            self._pause = FIRST_PAUSE
