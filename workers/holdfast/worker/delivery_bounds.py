"""The bounds of a delivery: its time limit, the tries of its task, and the number of tasks of one handler at once.

A worker cannot choose which tasks it claims. So it may hold more tasks of a handler than may run at once. A few of them
wait here for the next place, so that no place stays empty. They take slots that other tasks could use, so they may take
at most a quarter of all slots. The other tasks are deferred: the worker gives them back, and no attempt is counted. A
deferred task is due again about when a place becomes free for it, after LONGEST at the latest.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from holdfast.core.delivery import Delivery
from holdfast.core.settle import RetryPolicy
from holdfast.handler.handler import Handler, HandlerFunction, HandlerOptions
from holdfast.handler.task import Task
from holdfast_config import Settings

SHORTEST, LONGEST = 0.05, 30.0  # seconds until a deferred task is due again
FIRST_GUESS = 0.1  # seconds that a run takes, until one has ended
NEWEST = 0.2  # the weight of the last run in the mean

MAIN_THREAD = ""  # the limit of all handlers that need the main thread; no handler has this name


@dataclass(slots=True)
class HandlerLimit:
    """The places of one handler: how many of its tasks run at once. Times are seconds of `clock`."""

    places: int
    clock: Callable[[], float]
    begun: list[float] = field(default_factory=list[float])
    _free: anyio.Semaphore = field(init=False)
    _mean: float = FIRST_GUESS
    _reserved_until: float = 0.0

    def __post_init__(self) -> None:
        self._free = anyio.Semaphore(self.places, fast_acquire=True)

    @property
    def is_full(self) -> bool:
        return self._free.value == 0

    def seconds_to_turn(self) -> float:
        """The seconds after which a task for which there is no place should come again. Each call reserves the next
        place that becomes free, so deferred tasks come one after the other."""
        now = self.clock()
        longest = max((now - moment for moment in self.begun), default=0.0)
        ahead = max(now, self._reserved_until) + max(self._mean, longest) / self.places
        self._reserved_until = min(ahead, now + LONGEST)
        return max(SHORTEST, self._reserved_until - now)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None, None]:
        """Wait for a place, take it, and free it when the block ends."""
        async with self._free:
            begun = self.clock()
            self.begun.append(begun)
            try:
                yield
            finally:
                self.begun.remove(begun)
                self._mean += NEWEST * (self.clock() - begun - self._mean)


@dataclass(slots=True)
class HandlerLimits:
    """The limits of the handlers of one worker, which runs `slots` tasks at once."""

    slots: int
    clock: Callable[[], float]
    _limits: dict[str, HandlerLimit] = field(default_factory=dict[str, HandlerLimit])
    _waiting: int = 0

    def of(self, name: str, places: int) -> HandlerLimit:
        return self._limits.setdefault(name, HandlerLimit(places, self.clock))

    def may_wait(self) -> bool:
        return self._waiting < self.slots // 4

    @asynccontextmanager
    async def enter(self, limit: HandlerLimit) -> AsyncGenerator[None, None]:
        """Wait for a place of this handler and take it; the block's end frees the place. If no place is free, first
        call `may_wait`, which says whether this task may wait."""
        self._waiting += 1
        waiting = True
        try:
            async with limit.place():
                self._waiting -= 1
                waiting = False
                yield
        finally:
            self._waiting -= waiting


@dataclass(slots=True)
class DeliveryBounds:
    """The bounds that settings, handlers and producers set. The first of these counts: a bound of the task, of its
    handler, of its lane, of the worker. `limits`: the limits of handlers."""

    settings: Settings
    clock: Callable[[], float]
    retry_policy: RetryPolicy = field(init=False)
    limits: HandlerLimits = field(init=False)
    _timeouts: dict[str, float | None] = field(default_factory=dict[str, "float | None"])

    def __post_init__(self) -> None:
        settings = self.settings
        self.retry_policy = RetryPolicy(settings.max_attempts, settings.retry_base, settings.retry_cap)
        self.limits = HandlerLimits(settings.concurrency, self.clock)

    def unbounded(self, handler: Handler, delivery: Delivery, task: Task) -> HandlerFunction | None:
        """The function for this delivery, if it is a coroutine without limits, and the delivery need not wait for
        anything."""
        is_plain = not (task.unreadable or delivery.has_steps)
        if not is_plain or delivery.earlier or delivery.is_child or delivery.timeout_ms is not None:
            return None
        function = handler.choose(task.operation.name)
        if type(function) is not HandlerFunction or not function.is_unbounded:
            return None
        usual = self.timeout_of(delivery.lane) or task.operation.usual_timeout
        return function if usual is None else None

    def timeout_of(self, lane: str) -> float | None:
        """Seconds that a run of this lane's tasks may take, if neither task nor handler has a timeout; None: no
        limit."""
        if lane not in self._timeouts:
            self._timeouts[lane] = self.settings.timeout_of(lane)
        return self._timeouts[lane]

    def limit_of(self, name: str | None, options: HandlerOptions) -> HandlerLimit | None:
        """The places of the handler with this name; None if the handler has no limit."""
        if name is None or options.places is None:
            return None
        return self.limits.of(MAIN_THREAD if options.in_main_thread else name, options.places)

    def retry_policy_of(self, handler: Handler, task: Task) -> RetryPolicy:
        """How often this task is tried, and the waits between its tries."""
        policy, attempts = self.retry_policy, handler.options(task.operation.name).max_attempts
        if (base := task.operation.retry_backoff) is not None:
            policy = replace(policy, base=base, cap=max(policy.cap, base))
        return replace(policy, max_attempts=attempts) if attempts else policy
