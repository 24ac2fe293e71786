"""WrongEndDetector detects producers that push at the end from which a lane is served: new entries overtake old ones.

It compares the front of a lane in which entries wait with the front at the previous check. Entries pushed there are
counted in the store, once however many stewards check; `status` and `doctor` read that count. The log names the setting
that fixes it, once an hour while it continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from uuid import uuid4

import structlog

from holdfast.core.lanes import wrong_end_mend
from holdfast.core.store_info import LaneHead
from holdfast.store.protocol import StewardStore

WARN_EVERY = 3600.0  # seconds

_log = structlog.get_logger("holdfast.steward")


class WrongEndDetector:
    """Checks one lane. `now`: monotonic seconds."""

    def __init__(self, store: StewardStore, lane: str, now: Callable[[], float] = time.monotonic) -> None:
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
