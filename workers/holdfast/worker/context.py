"""The parts of one worker share its context: its identity and settings, its store, its state."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import anyio

from holdfast.core.begun_page import BegunTasks
from holdfast.core.delivery import Settlement, Verdict
from holdfast.core.lease import Lease
from holdfast.core.pull_protocol import Exchange
from holdfast.core.recycle import RecycleLimits
from holdfast.store.protocol import Store
from holdfast.worker.spec import WorkerSpec
from holdfast.worker.state import WorkerState, heeds_bells
from holdfast.worker.store_retries import StoreRetries

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


# Seconds on a clock that goes on while the host sleeps. No function of ours, as it is asked twice for each task.
lease_clock: Callable[[], float] = partial(time.clock_gettime, _CLOCK)


def ignore_verdict(settlement: Settlement, verdict: Verdict) -> None:
    """Default of `on_verdict`."""


def initial_state(spec: WorkerSpec) -> WorkerState:
    """The state of a worker that holds nothing, with a lease from now on and limits of its own."""
    settings = spec.settings
    limits = RecycleLimits.of(settings.max_tasks, settings.max_memory, random.random())
    return WorkerState(Exchange(spec.capacity), Lease(settings.lease, lease_clock()), limits)


@dataclass(slots=True, repr=False)  # its parts hold it: what shows the values of a traceback would show it without end
class WorkerContext:
    """Events that end or interrupt a worker: `fenced`, the store says DEAD, and others own its tasks by now; `unknown`,
    the store has lost this incarnation; `stuck`, a thread will not stop.

    `on_verdict` is called with the store's answer to each settlement. `begun`: the tasks that were begun and of which
    the store does not know the end yet.
    """

    spec: WorkerSpec
    store: Store
    on_verdict: Callable[[Settlement, Verdict], None] = ignore_verdict
    begun: BegunTasks = field(default_factory=BegunTasks)
    retries: StoreRetries = field(default_factory=StoreRetries)
    fenced: anyio.Event = field(default_factory=anyio.Event)
    unknown: anyio.Event = field(default_factory=anyio.Event)
    stuck: anyio.Event = field(default_factory=anyio.Event)
    state: WorkerState = field(init=False)

    def __post_init__(self) -> None:
        self.state = initial_state(self.spec)

    @property
    def incarnation(self) -> str:
        return self.spec.incarnation

    @property
    def exchange(self) -> Exchange:
        return self.state.exchange

    def heeds_bells(self) -> bool:
        """True if a bell would be of use to this worker now."""
        return heeds_bells(self.state, lease_clock())

    def seek(self) -> None:
        """Tasks may wait that this worker can begin: ask the store, unless it may claim nothing."""
        if self.heeds_bells():
            self.state.want_pull()
