"""The context that the parts of one worker share: its identity and settings, its store, its state."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_random

from holdfast.core.begun_page import BegunTasks
from holdfast.core.delivery import Settlement, Verdict
from holdfast.core.pull_protocol import Exchange, Lease
from holdfast.core.recycle import RecycleLimits
from holdfast.core.worker_records import WorkerKind
from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.store import Store
from holdfast.worker.state import WorkerState, heeds_bells
from holdfast_config import Settings, library_log


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """The identity and the settings of a worker. `incarnation`: 32 hex characters, new for each fork and never used
    again. `kind`: which tasks it claims. `halt`: for a process that must end at a halt, the number of the last halt
    before its start."""

    incarnation: str
    slot: int
    settings: Settings
    kind: WorkerKind = WorkerKind.SINGLE
    halt: int | None = None

    @property
    def quarantine(self) -> bool:
        """True if the worker claims suspects only, one at a time."""
        return self.kind is WorkerKind.QUARANTINE

    @property
    def capacity(self) -> int:
        """The number of tasks that the worker runs at a time."""
        return 1 if self.quarantine else self.settings.concurrency


# Retries a worker's idempotent calls until the store answers, however long that takes.

T = TypeVar("T")

FIRST_WAIT = 0.02  # seconds
WAIT = wait_exponential(multiplier=0.02, max=1.0) + wait_random(0, 0.05)  # seconds between tries

_log = library_log.get_logger("holdfast.worker")


@dataclass(slots=True)
class StoreRetries:
    """Repeats one worker's calls of the store until they succeed. `degraded`: the reason why the store cannot be used
    now; empty if all calls succeed. `is_cut`: a connection has ended since the last pull, so the store may have been
    replaced or set back."""

    is_cut: bool = False

    _failing: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def degraded(self) -> str:
        return next(iter(self._failing.values()), "")

    async def call(self, what: str, operation: Callable[[], Awaitable[T]]) -> T:
        """Call `operation` until it succeeds, however long that takes; returns its answer. `what` names the call in
        logs. Every StoreError is retried, also a refusal: somebody may mend its reason (rights, a full disk), and until
        then the worker must not lose a result."""

        try:
            return await operation()
        except StoreError as error:
            self._note(what, error)
        try:
            answer = await self._retry(what, operation)
        finally:  # a call that is canceled, or ends with another error, has no success that would remove its mark
            self._failing.pop(what, None)  # several parts may make the same call: one that still fails notes it again
        _log.info("the store answers again", call=what)
        return answer

    async def _retry(self, what: str, operation: Callable[[], Awaitable[T]]) -> T:
        def note(state: RetryCallState) -> None:
            self._note(what, state.outcome.exception() if state.outcome else None)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(StoreError), wait=WAIT, sleep=anyio.sleep, before_sleep=note, reraise=True
        )

        async def attempt() -> T:  # tenacity awaits only a function that is declared async; a lambda is not
            return await operation()

        await anyio.sleep(FIRST_WAIT)
        return await retrying(attempt)

    def _note(self, what: str, error: BaseException | None) -> None:
        if what not in self._failing:
            _log.warning("the store does not answer; waiting", call=what, error=str(error))
        self._failing[what] = str(error)
        self.is_cut = self.is_cut or isinstance(error, StoreUnavailableError)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


# Seconds on a clock that goes on while the host sleeps. A partial, because it is called twice for each task.
lease_clock: Callable[[], float] = partial(time.clock_gettime, _CLOCK)


def ignore_verdict(settlement: Settlement, verdict: Verdict) -> None:
    """Do nothing: the default of `on_verdict`."""


@dataclass(slots=True, repr=False)  # its parts refer to it, so a repr in a traceback would have no end
class WorkerContext:
    """The state and the objects that all parts of one worker share. Three events end or interrupt the worker. `fenced`:
    the store has declared the worker dead, so other workers own its tasks. `unknown`: the store has lost this
    incarnation. `stuck`: a handler's thread does not stop.

    `on_verdict` is called with the store's answer to each settlement. `begun`: tasks that have begun and whose end the
    store does not know yet.
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
        settings = self.spec.settings
        limits = RecycleLimits.of(settings.max_tasks, settings.max_memory, random.random())
        lease = Lease(settings.lease, lease_clock())  # from now on
        self.state = WorkerState(Exchange(self.spec.capacity), lease, limits)

    @property
    def incarnation(self) -> str:
        return self.spec.incarnation

    @property
    def exchange(self) -> Exchange:
        return self.state.exchange

    def heeds_bells(self) -> bool:
        """True if the worker could take a task now, so a bell (the store's signal that tasks wait) is useful to it."""
        return heeds_bells(self.state, lease_clock())

    def seek(self) -> None:
        """Have the worker ask the store for tasks, unless it may claim none."""
        if self.heeds_bells():
            self.state.want_pull()
