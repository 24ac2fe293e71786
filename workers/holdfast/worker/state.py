"""The state of one worker: the tasks that it holds, and the facts that decide how many more it may claim.

The parts of a worker read and change the state; `changed` wakes parts that wait. Decisions are functions of the state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio.lowlevel

from holdfast.core import recycle
from holdfast.core.delivery import Delivery
from holdfast.core.pull_protocol import Exchange, Lease, TaskDurations
from holdfast.core.recycle import RecycleLimits, WorkerUse

# Wakes the parts of a worker when its state changes.


def _always() -> bool:
    return True


@dataclass(slots=True)
class Changes:
    """Wakes the parts of a worker when its state changes. Conditions are checked when a change is announced, and only
    parts whose condition is true are woken: this is far cheaper than waking every part. The events are asyncio's,
    because anyio's cost several times as much to make."""

    _waiting: dict[asyncio.Event, Callable[[], bool]] = field(default_factory=dict[asyncio.Event, Callable[[], bool]])

    def announce(self) -> None:
        """Announce that the state has changed."""
        for event, condition in self._waiting.items():
            if condition():
                event.set()

    async def next(self, condition: Callable[[], bool] = _always) -> None:
        """Wait for the next change after which this condition is true."""
        event = asyncio.Event()
        self._waiting[event] = condition
        try:
            await event.wait()
        finally:
            del self._waiting[event]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until this condition is true. Even if it is true already, other tasks of the loop run first."""
        if condition():
            await anyio.lowlevel.checkpoint()
        while not condition():
            await self.next(condition)


@dataclass(slots=True)
class WorkerState:
    """The state of one worker. `exchange`: held tasks and slots. `ahead`: held tasks that wait to begin, in the order
    of the claims; `durations` decides how many may wait. `use`: tasks done and memory; beyond `limits` this worker is
    recycled. `recycle_reason`: why it should be recycled; empty if it need not be. `is_ready`: a task could begin now
    (False while an application asks for none). `is_draining`: the worker finishes its tasks, then ends. `is_quiet`: the
    store said that this host must claim nothing. `is_apart`: the store said that a suspect runs in this process alone,
    or will be the next task here. `is_vouched_for`: a steward renews the lease of this worker, too. `pull_wanted`,
    `renewal_wanted`: send the next request, or the next renewal, at once. `inbox_waits`: this worker's inbox has
    entries that are too large for the store to read."""

    exchange: Exchange
    lease: Lease
    limits: RecycleLimits = field(default_factory=RecycleLimits)
    use: WorkerUse = field(default_factory=WorkerUse)
    recycle_reason: str = ""
    is_ready: bool = True
    is_draining: bool = False
    is_quiet: bool = False
    is_apart: bool = False
    is_vouched_for: bool = False
    pull_wanted: bool = False
    renewal_wanted: bool = False
    inbox_waits: bool = False
    ahead: dict[str, Delivery] = field(default_factory=dict[str, Delivery])
    durations: TaskDurations = field(default_factory=TaskDurations)
    changed: Changes = field(default_factory=Changes)

    def want_pull(self) -> None:
        """Have the worker ask the store soon, because a task has ended or can be claimed. Tasks that end in the same
        turn of the loop are reported together."""
        if not self.pull_wanted:
            self.pull_wanted = True
            self.changed.announce()

    def want_renewal(self) -> None:
        """Have the lease renewed now, to tell the store of a change."""
        self.renewal_wanted = True
        self.changed.announce()


def may_claim(state: WorkerState, now: float) -> bool:
    """True if this worker may claim tasks. False while it drains, while it is not ready, and after the end of its
    lease."""
    return not state.is_draining and state.lease.holds(now) and state.is_ready


def slots_to_claim(state: WorkerState, now: float) -> int:
    """The number of tasks that this worker may claim now to begin them at once."""
    if not may_claim(state, now):
        return 0
    within_limits = recycle.claimable(state.limits, state.use, len(state.exchange.held))
    return min(state.exchange.free, within_limits)


def claims_ahead(state: WorkerState, slots: int, now: float) -> int:
    """The number of tasks that this worker may claim beyond `slots`, so that it has work while it asks for more."""
    if state.is_apart or not may_claim(state, now):
        return 0
    exchange = state.exchange
    room = exchange.capacity + state.durations.claims_ahead(exchange.capacity) - len(exchange.held) - slots
    within_limits = recycle.claimable(state.limits, state.use, len(exchange.held)) - slots
    return max(0, min(room, within_limits))


def heeds_bells(state: WorkerState, now: float) -> bool:
    """True if a bell (the store's signal that tasks wait) would be useful. False if the worker may claim nothing, or is
    about to ask the store."""
    if state.is_quiet or state.is_apart or state.pull_wanted:
        return False
    return slots_to_claim(state, now) > 0
