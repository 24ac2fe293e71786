"""The store: its check, its losses and rollbacks, runs that were lost in it, and its ledger.

LostRuns reports the runs that were under way in a dead worker: a killed process sends no span of them. The events of
the recovery say which runs these were. One script has written them all, right before the event of the worker's death.
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


MOST_WORKERS = 1000  # dead ones that wait to be reported; of more than these, the newest
PAGE, MOST_PAGES = 500, 40  # events between now and the death
EVENTS_OF_TASK = 8  # in one recovery, at most
REST = 3600.0  # seconds; a death wakes it
NOT_BEGUN = ", before it had begun"

_log = structlog.get_logger("holdfast.steward")


class LostRuns:
    """`handler`: the name of the handler of tasks that name none."""

    def __init__(self, store: Store, telemetry: Telemetry, handler: str) -> None:
        self._store = store
        self._telemetry = telemetry
        self._handler = handler
        self._dead: deque[str] = deque(maxlen=MOST_WORKERS)
        self._changed = anyio.Event()

    def duty(self) -> Duty:
        return Duty("lost runs", self.run_once, self._wait)

    def add(self, incarnation: str) -> None:
        """Report the runs of a dead worker whose tasks were put back."""
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
            except Exception:  # the border of one death: an error must not hold up the others
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
        """The recoveries of tasks that had begun, as their trails tell of them."""
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
    """The recoveries of this worker's tasks among `events`, newest first; None if there may be more before them."""
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
    """The lost run of a task; None if its operation cannot be read."""
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
    """The events of the task that this recovery has caused."""
    is_after = False
    for each in trail:
        if is_after and (each.event == "claimed" or each.at_ms != recovery.at_ms):
            return
        if is_after:
            yield RunEvent(each.event, each.at_ms, each.number, each.due_ms)
        is_after = is_after or (each.event, each.claim) == (recovery.event, recovery.claim)


# EmptiedStore detects that the store has lost all its data (restarted without a log, or flushed) and reports it.
#
# Work continues by itself: workers register again, new tasks run. But all accepted tasks are gone, and the empty store
# itself does not show that. Each time its data is lost, the store begins a new epoch.

EMPTIED_EVERY = 2.0  # seconds; tasks accepted since the last check are missing in the number of lost tasks
LOUD_FOR = 600.0  # seconds for which `status` shows it; `doctor` shows it for longer
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


# StoreRollbacks detects that the store has lost its latest writes (a lagging replica became master, say).
#
# The data that is left is consistent and work continues; but tasks accepted and results recorded meanwhile are gone.
# The store itself does not show that, so the steward remembers the last event.

ROLLBACK_EVERY = 1.0  # seconds; events since the last check are not covered
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


# Checks that the store is reachable and fit for the promise: before the first worker, and regularly after that.
#
# At the first start of a parent the result decides if the service starts. A store that becomes unfit later (because it
# evicts keys, say) is shown as degraded and ends nothing.

PREFLIGHT_EVERY = 30.0  # seconds
REMOTE_TIMEOUT = 9.0  # seconds: the service answers within 10
EMBEDDED_TIMEOUT_SHARE = 0.9  # of the boot timeout


def preflight_duty(store: Store, lanes: Sequence[str]) -> Duty:
    async def run_once() -> float:
        await store.preflight(lanes)
        return PREFLIGHT_EVERY

    return Duty("preflight", run_once)


async def preflight(store: Store, settings: Settings) -> BootFailed | None:
    """Wait a limited time until the store is fit; None if it is."""
    trouble = f"Redis at {settings.redis.masked_url} does not answer"
    # The embedded store may have a long AOF to load, and the parent watches it.
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


# LedgerDuty copies events to PostgreSQL, where that keeps the tasks, and rebuilds a Redis that has lost its data.
#
# One steward of all hosts does it at a time; the others check now and then if that one still does.

GATHER = 0.05  # seconds: events in this time are ingested in one transaction
LOOK_EVERY = 1.0  # seconds: waiting requests cause no event
OTHERS_TURN = 1.0  # seconds
_REBUILD = "rebuild"


class LedgerDuty:
    """Keeps the ledger. While events are left to copy, the next round begins at once; else it waits for a new one."""

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
