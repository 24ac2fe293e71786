"""Duties for the store: the check before the start, the detection of lost data and of a store set back to an earlier
state, the copy to PostgreSQL, and spans of the runs that ended with the death of their worker.

LostRuns sends a span for each run that was under way in a worker when it died, because a killed process sends no spans.
The events say which runs these were: the script that put back the worker's tasks has written an event for each of them,
right before the event of the worker's death.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import anyio
import structlog

from holdfast.core.activity import Happening
from holdfast.core.counts import Epoch
from holdfast.core.envelope import kept_run
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import TrailStep, read_step, read_trail
from holdfast.core.words import counted
from holdfast.errors import StoreError, StoreFullError, StoreUnavailableError
from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed
from holdfast.store import Store
from holdfast.telemetry.port import Telemetry
from holdfast.telemetry.runs import LostRun, RunEvent
from holdfast_config import Settings
from holdfastd.steward.duty import Duty, Health, pause

if TYPE_CHECKING:
    from holdfast.store.ledger import PostgresStore


MOST_WORKERS = 1000  # dead workers whose runs wait to be reported; beyond this number the oldest are dropped
PAGE, MOST_PAGES = 500, 40  # events in a page, and pages, that are searched for the event of the death
EVENTS_OF_TASK = 8  # the most events that one recovery writes for a task
REST = 3600.0  # seconds; a death wakes the duty earlier
NOT_BEGUN = ", before it had begun"

_log = structlog.get_logger("holdfast.steward")


class LostRuns:
    """Reports to telemetry the runs that ended because their worker died. `handler`: the handler's name for tasks that
    name none."""

    def __init__(self, store: Store, telemetry: Telemetry, handler: str) -> None:
        self._store = store
        self._telemetry = telemetry
        self._handler = handler
        self._dead: deque[str] = deque(maxlen=MOST_WORKERS)
        self._changed = anyio.Event()

    def duty(self) -> Duty:
        return Duty("lost runs", self.run_once, self._wait)

    def add(self, incarnation: str) -> None:
        """Have the runs reported that were under way when this worker died. The worker's tasks were put back
        already."""
        self._dead.append(incarnation)
        self._announce()

    async def all_reported(self) -> None:
        while self._dead:
            await self._changed.wait()

    async def run_once(self) -> float:
        while self._dead:
            incarnation = self._dead[0]
            try:
                await self._report(incarnation)
            except StoreUnavailableError:
                raise
            except Exception:  # an error about one dead worker must not hold up the others
                _log.exception("the spans of the runs that a dead worker lost cannot be sent", incarnation=incarnation)
            if self._dead and self._dead[0] is incarnation:
                self._dead.popleft()
            self._announce()
        return REST

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while not self._dead:
                await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _report(self, incarnation: str) -> None:
        for task_id, step in await self._steps(incarnation):
            record = await self._store.get(task_id)
            run = None if record is None else _lost_run(record, step, self._handler)
            if run is not None:
                self._telemetry.lost(run)

    async def _steps(self, incarnation: str) -> list[tuple[str, TrailStep]]:
        """The tasks that this worker had begun when it died: the id of each, and the step of its history with which it
        was taken from the worker."""
        events, position = list[Happening](), ""
        for _ in range(MOST_PAGES):
            page = await self._store.events_before(position, PAGE)
            events += page
            found = recovered(events, incarnation)
            if found is not None or not page:
                return found or []
            position = page[-1].position
        return []


def recovered(events: list[Happening], incarnation: str) -> list[tuple[str, TrailStep]] | None:
    """The tasks that this worker had begun and that were then taken from it, as `events` (newest first) show: each
    task's id and that step of its history. None if `events` does not reach far enough back to find all of them."""
    begin = next(
        (at for at, each in enumerate(events) if (each.event, each.subject) == ("worker-died", incarnation)), None
    )
    if begin is None:
        return None
    count = int(events[begin].detail.rpartition(" ")[2])
    steps, held = list[tuple[str, TrailStep]](), 0
    for each in events[begin + 1 :]:
        if held == count or each.event == "worker-died":
            return steps
        if each.event not in {"crashed", "recovered"}:
            continue
        step = read_step(f"{each.at_ms} {each.event} {each.detail}")
        if step.incarnation == incarnation:
            held += 1
            if not step.reason.endswith(NOT_BEGUN):
                steps.append((each.subject, step))
    is_whole = held == count or len(events) - begin > count * EVENTS_OF_TASK + PAGE
    return steps if is_whole else None


def _lost_run(record: TaskRecord, step: TrailStep, handler: str) -> LostRun | None:
    """The run of the task that ended with this step, in which the task was taken from a dead worker. None if the task's
    operation cannot be read."""
    operation = kept_run(record.operation)
    if operation is None:
        return None
    trail = read_trail(record.trail)
    claimed = next((each.at_ms for each in trail if (each.event, each.claim) == ("claimed", step.claim)), step.at_ms)
    return LostRun(
        record.task_id,
        record.lane,
        record.turn,
        step.delivery,
        step.incarnation,
        operation,
        len(record.operation or b""),
        record.name or handler,
        step.reason,
        claimed,
        step.at_ms,
        tuple(_after(trail, step)),
    )


def _after(trail: Iterable[TrailStep], recovery: TrailStep) -> Iterator[RunEvent]:
    """The events that happened to the task because it was taken from its dead worker, for example its delay or its
    end."""
    is_after = False
    for each in trail:
        if is_after and (each.event == "claimed" or each.at_ms != recovery.at_ms):
            return
        if is_after:
            yield RunEvent(each.event, each.at_ms, each.number, each.due_ms)
        is_after = is_after or (each.event, each.claim) == (recovery.event, recovery.claim)


# EmptiedStore detects that the store has lost all its data (restarted without a log, or flushed) and reports it.
#
# Work continues by itself: workers register again, and new tasks run. But all accepted tasks are gone, and an empty
# store looks like a new one. So stewards keep an epoch in the store: if the epoch is missing, the data was lost.

EMPTIED_EVERY = 2.0  # seconds; the number of lost tasks does not include tasks accepted since the last check
LOUD_FOR = 600.0  # seconds for which `status` shows the loss; `doctor` shows it for longer
_DATA_LOSS = "data loss"


class EmptiedStore:
    def __init__(self, store: Store, health: Health) -> None:
        self._store = store
        self._health = health
        self._known = Epoch("", 0)

    def duty(self) -> Duty:
        return Duty("emptied store", self.run_once)

    async def run_once(self) -> float:
        epoch = await self._store.epoch(self._known, uuid4().hex)
        if self._known.name not in {"", epoch.name}:
            _log.error(
                "the store is empty after a restart or a flush: all its data is lost",
                tasks=self._known.tasks,
                epoch=epoch.name,
                before=self._known.name,
            )
        self._known = epoch
        is_fresh = epoch.emptied_ago_ms is not None and epoch.emptied_ago_ms < LOUD_FOR * 1000
        known = counted(epoch.lost, "task was", "tasks were")
        trouble = f"the store came back empty: all its data is lost ({known} known)"
        self._health.set(_DATA_LOSS, trouble if is_fresh else "")
        return EMPTIED_EVERY


# StoreRollbacks detects that the store has lost its latest writes, for example because a lagging replica became master.
#
# The data that is left is consistent, and work continues. But the tasks and results of the lost writes are gone. The
# store itself does not show this, so the steward remembers the last event that it has seen.

ROLLBACK_EVERY = 1.0  # seconds; the loss of events since the last check alone is not detected
IDLE = 2.0  # seconds, while nothing happens
_ROLLBACK = "rollback"


class StoreRollbacks:
    def __init__(self, store: Store, health: Health, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._health = health
        self._clock = clock
        self._seen = ""
        self._quiet_at = 0.0

    def duty(self) -> Duty:
        return Duty("store rollbacks", self.run_once)

    async def run_once(self) -> float:
        last, gone_ms = await self._store.latest(self._seen)
        if gone_ms is not None:
            _log.error(
                "the store has lost its latest writes",
                at_least_s=round(gone_ms / 1000, 3),
                seen=self._seen,
            )
            trouble = f"the store went back by {gone_ms / 1000:.1f} s or more: tasks accepted in that time are lost"
            self._health.report(_ROLLBACK, trouble)
            self._quiet_at = self._clock() + LOUD_FOR
        elif self._clock() >= self._quiet_at:
            self._health.clear(_ROLLBACK)
        idle, self._seen = last == self._seen, last
        return IDLE if idle else ROLLBACK_EVERY


# Preflight checks that the store answers and that its configuration cannot lose tasks. It runs before the first worker
# starts, and every PREFLIGHT_EVERY after that.
#
# The first result decides whether the service starts. If the store becomes unfit later, for example because it now
# evicts keys, `status` shows the service as degraded, and the service goes on.

PREFLIGHT_EVERY = 30.0  # seconds
REMOTE_TIMEOUT = 9.0  # seconds: the service answers within 10
EMBEDDED_TIMEOUT_SHARE = 0.9  # of the boot timeout


def preflight_duty(store: Store, lanes: Sequence[str]) -> Duty:
    async def run_once() -> float:
        await store.preflight(lanes)
        return PREFLIGHT_EVERY

    return Duty("preflight", run_once)


async def preflight(store: Store, settings: Settings) -> BootFailed | None:
    """Wait for a limited time until the store can be used. Returns None when the store can be used, else the error that
    ends the service."""
    trouble = f"Redis at {settings.redis.masked_url} does not answer"
    # The embedded store may have to load a long append-only file, and the parent watches its process.
    within = settings.boot_timeout * EMBEDDED_TIMEOUT_SHARE if settings.embedded else REMOTE_TIMEOUT
    with anyio.move_on_after(within):
        for failures in itertools.count(1):
            try:
                await store.preflight(settings.lane_names)
                return None
            except (StoreUnavailableError, StoreFullError) as error:
                trouble = str(error) or trouble
                await anyio.sleep(pause(failures))
            except StoreError as error:
                return BootFailed(ChildExit.BOOT_FAILED, str(error))
    return BootFailed(ChildExit.UNAVAILABLE, f"{trouble}; {_advice(settings)}")


def _advice(settings: Settings) -> str:
    if settings.embedded:
        return f"see {settings.state_dir / 'store' / 'server.log'}"
    return f"is it running, and is {'the URL' if settings.postgres else 'REDIS_URL'} right?"


# LedgerDuty copies events from Redis to PostgreSQL if PostgreSQL keeps the tasks. It rebuilds a Redis that has lost its
# data.
#
# One steward of all hosts does this at a time. The others check every OTHERS_TURN whether it still does.

GATHER = 0.05  # seconds: one transaction takes the events of this time
LOOK_EVERY = 1.0  # seconds: requests that wait for the ledger cause no event, so the duty looks for them
OTHERS_TURN = 1.0  # seconds
_REBUILD = "rebuild"


class LedgerDuty:
    """The duty that keeps the ledger, the copy of the queue in PostgreSQL. While events are left to copy, its next
    round begins at once. Otherwise the duty waits for a new event."""

    def __init__(self, ledger: PostgresStore, health: Health) -> None:
        self._ledger = ledger
        self._health = health
        self._waits = False

    def duty(self) -> Duty:
        return Duty("ledger", self.run_once, self.wait)

    async def run_once(self) -> float:
        kept = await self._ledger.keep()
        self._health.set(_REBUILD, "Redis is being rebuilt from PostgreSQL" if kept.rebuilding else "")
        self._waits = not (kept.busy or kept.more)
        return 0.0 if kept.more else OTHERS_TURN

    async def wait(self, seconds: float) -> None:
        if self._waits:
            await self._ledger.news(LOOK_EVERY)
            await anyio.sleep(GATHER)
        else:
            await anyio.sleep(seconds)
