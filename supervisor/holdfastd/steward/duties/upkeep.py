"""Small duties that keep the queue in order: due tasks, counts of batches, unserved tasks, old tasks, rollups,
suspects, the time file.

The steward tells the parent how many suspects wait: when the number changes, and every second while it is not 0. The
parent forks quarantine workers for these suspects.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import structlog

from holdfast.core.quiet_hosts import remedy
from holdfast.core.rollup import MINUTE, MINUTES_KEPT_MS, PACKED
from holdfast.core.task_states import TERMINAL, State
from holdfast.ipc.channel import Left, SuspectsWaiting
from holdfast.store import Store
from holdfast.store.periods import made_of_shorter
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duty import Duty, punctual
from holdfastd.steward.roster import WorkerRoster

# Promotion moves delayed tasks to their lanes when they are due, within a millisecond while the steward lives.

PROMOTED_AT_ONCE = 100  # tasks in one call, which takes some milliseconds of the store
LONGEST_REST = 10.0  # seconds: the longest delay after a lost alarm, where no worker pulls


def promotion(store: Store, promoted_some: Callable[[], None] = lambda: None) -> Duty:
    async def run_once() -> float:
        while True:
            promoted, due_in = await store.promote(PROMOTED_AT_ONCE)
            if promoted:
                promoted_some()
            if promoted < PROMOTED_AT_ONCE and due_in != 0:
                return LONGEST_REST if due_in is None else min(due_in / 1000, LONGEST_REST)

    return Duty("promotion", run_once, punctual(store.wait_alarm))


# Batch counts: normally the store counts the end of a batch's task when the task ends. The steward counts the ends that
# were missed, for example because somebody deleted the task's record.

TASKS = 100  # tasks in one call, which takes a fraction of a millisecond of the store
NEXT_PAGE = 0.02  # seconds: a large batch must not delay other clients

_log = structlog.get_logger("holdfast.steward")


def batch_counts(store: Store) -> Duty:
    async def run_once() -> float:
        ends, wait_ms = await store.look_at_batches(TASKS)
        if ends:
            _log.info("some tasks of a batch had ended uncounted: they are counted now", tasks=ends)
        return LONGEST_REST if wait_ms is None else min(LONGEST_REST, max(NEXT_PAGE, wait_ms / 1000))

    return Duty("batch counts", run_once)


# Tasks become dead letters when they have waited too long for a handler that no worker has.

UNSERVED_AT_ONCE = 200  # handlers, and tasks of a handler, in one call, which takes some milliseconds of the store
UNSERVED_EVERY = 1.0  # seconds


def unserved_tasks(store: Store, timeout: float) -> Duty:
    """Make the duty that turns a task into a dead letter if it has waited too long for its handler, which no worker
    has. `timeout`: the seconds that a task may wait for a worker with its handler."""

    async def run_once() -> float:
        if ended := await store.unserved(round(timeout * 1000), UNSERVED_AT_ONCE):
            _log.error("tasks became dead letters: no worker has their handler", tasks=ended, seconds=timeout)
        return UNSERVED_EVERY

    return Duty("unserved tasks", run_once)


# Retention deletes ended tasks when the time for which they are kept is over, a few at a time.

REMOVED_AT_ONCE = 100  # tasks in one call, which takes some milliseconds of the store
RETENTION_EVERY = 30.0  # seconds
NEXT_BATCH = 0.02  # seconds: a backlog of old tasks must not delay other clients


def retention(store: Store, keep: float, watch: ClockWatch) -> Duty:
    """Make the duty that deletes old tasks. `keep`: seconds for which ended tasks are kept. While `watch` does not
    trust the store's clock, the duty deletes nothing."""

    async def run_once() -> float:
        if not await watch.ages_hold():
            return RETENTION_EVERY
        trimmed = await store.trim(round(keep * 1000), REMOVED_AT_ONCE)
        return NEXT_BATCH if trimmed >= REMOVED_AT_ONCE else RETENTION_EVERY

    return Duty("retention", run_once)


# Rollups adds up the rollups of minutes to one of ten minutes and one of an hour, and those of hours to one of a day.
#
# All stewards do this with the same result, and the store keeps the first one. A steward that starts looks back eight
# hours.

SETTLED = 2 * MINUTE  # this long after a window's end its rollups no longer change
ROLLUP_EVERY = 60.0  # seconds


@dataclass(slots=True)
class Rollups:
    """The duty that packs rollups (counts and times of runs in one minute): it adds them up to rollups of longer
    windows. `_next`: the start of the first window that this steward has not packed, by the window's length; both in
    milliseconds."""

    store: Store
    _next: dict[int, int] = field(default_factory=lambda: dict.fromkeys(PACKED, 0))

    def duty(self) -> Duty:
        return Duty("rollups", self.pack)

    async def pack(self) -> float:
        """Pack the rollups of the windows that are over, the shortest windows first. Returns the seconds until the next
        round."""
        now_ms = await self.store.clock_ms()
        for length in PACKED:
            await self._pack(length, now_ms)
        return ROLLUP_EVERY

    async def _pack(self, length: int, now_ms: int) -> None:
        settled = now_ms - SETTLED
        oldest = (settled - MINUTES_KEPT_MS - 1) // length * length  # this window ends within the last eight hours
        start = max(self._next[length], oldest)
        while start + length <= settled:
            await self._pack_window(length, start, now_ms)
            start += length
            self._next[length] = start

    async def _pack_window(self, length: int, start: int, now_ms: int) -> None:
        [kept] = [rollup async for _, rollup in self.store.rollups(length, start, start + length)]
        if kept is None and (rollup := await made_of_shorter(self.store, now_ms, length, start)):
            await self.store.keep_rollup(length, start, rollup)


SUSPECTS_EVERY = 1.0  # seconds


@dataclass(slots=True)
class Suspects:
    """The duty that counts the waiting suspects (tasks that may only run in quarantine) for the parent. `lanes`: the
    lanes that this supervisor serves. `roster`: the supervisor's workers. `tell` sends a message to the parent."""

    store: Store
    lanes: Sequence[str]
    roster: WorkerRoster
    tell: Callable[[SuspectsWaiting], None]
    _last_sent: SuspectsWaiting = field(default_factory=lambda: SuspectsWaiting(0))
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def duty(self) -> Duty:
        return Duty("suspects", self.run_once, self._wait)

    def look(self) -> None:
        """Have the suspects counted now: a task may have become a suspect, or a suspect may start now."""
        self._changed.set()

    async def run_once(self) -> float:
        self._changed = anyio.Event()
        found = await self.store.suspects(self.lanes, self.roster.living)
        message = SuspectsWaiting(found.startable, found.alone, await self._quiet() if found.startable else "")
        if message.startable or message != self._last_sent:
            self.tell(message)
        self._last_sent = message
        return SUSPECTS_EVERY

    async def _quiet(self) -> str:
        """The order (quiet or halt) because of which this host claims no task, with the command that ends the order;
        empty without an order."""
        host = socket.gethostname()
        for mark in await self.store.quiet_hosts():
            if mark.counts_for(host):
                return f"{'halted' if mark.is_halt else 'quiet'}: {remedy(mark)}"
        return ""

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._changed.wait()


# With --burst, the steward reports to the parent how many tasks are left. The parent decides when the service ends.

BURST_EVERY = 0.2  # seconds: a finished burst should end soon


def burst_progress(store: Store, lanes: Sequence[str], tell: Callable[[Left], None]) -> Duty:
    """Make the duty that counts the tasks left in these lanes and reports them with `tell`."""

    async def run_once() -> float:
        left, due_in, unserved = await store.left(lanes)
        counts = await store.counts()  # read after the lanes: a task that ended in between is counted as ended
        ended = {str(state): counts.counters[state] for state in sorted(TERMINAL)}
        delayed = counts.states[State.DELAYED]
        tell(Left(left, ended, delayed, None if due_in is None else due_in / 1000, unserved))
        return BURST_EVERY

    return Duty("burst progress", run_once)


# Writes the time of the steward's last check of the store to a file, in Unix seconds by the store's clock.

TIME_EVERY = 1.0  # seconds
AFTER_TROUBLE = 30.0  # seconds: a full disk must not fill the log, too


def time_file(store: Store, path: Path) -> Duty:
    """Make the duty that writes the time of its last check of the store to a file. A reader of the file never sees half
    a number."""

    async def run_once() -> float:
        now = await store.clock_ms()
        try:
            write(path, f"{now // 1000}")
        except OSError as error:
            _log.warning("the time file cannot be written", file=str(path), error=error.strerror)
            return AFTER_TROUBLE
        return TIME_EVERY

    return Duty("time file", run_once)


def write(path: Path, text: str) -> None:
    """Replace the file. Other users may write in this folder, so this function never writes to a file or link of
    another user."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    beside.replace(path)
