"""Promotion moves delayed tasks to their lanes when they are due, to the millisecond while the steward lives."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.punctual_wait import punctual

BATCH = 100  # some milliseconds of the store
LONGEST_REST = 10.0  # seconds: the longest delay after a lost alarm, where no worker pulls


def promotion(store: StewardStore, promoted_some: Callable[[], None] = lambda: None) -> Duty:
    async def run_once() -> float:
        while True:
            promoted, due_in = await store.promote(BATCH)
            if promoted:
                promoted_some()
            if promoted < BATCH and due_in != 0:
                return LONGEST_REST if due_in is None else min(due_in / 1000, LONGEST_REST)

    return Duty("promotion", run_once, punctual(store.wait_alarm))
