"""One life of a steward: what it hears, the duties it does at the same time, and its end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.abc import TaskGroup

from holdfast.exits import ChildExit
from holdfast.ipc.channel import Beat, Born, Died, Drain, Leave, Link, Ready
from holdfast.store.protocol import Ledger, Store
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duties.audit import Audit
from holdfastd.steward.duties.bells import bells
from holdfastd.steward.duties.burst import burst
from holdfastd.steward.duties.data_loss import DataLoss
from holdfastd.steward.duties.lane_limits import LaneLimits
from holdfastd.steward.duties.leases import ExpiredLeases, LeaseSettings
from holdfastd.steward.duties.ledger import LedgerDuty
from holdfastd.steward.duties.orphans import Orphans
from holdfastd.steward.duties.preflight import fitness, preflight
from holdfastd.steward.duties.promote import promotion
from holdfastd.steward.duties.quiet import saying_marks
from holdfastd.steward.duties.recover import Recovered, Recovery
from holdfastd.steward.duties.retention import trimming
from holdfastd.steward.duties.rollbacks import Rollbacks
from holdfastd.steward.duties.schedules import scheduling
from holdfastd.steward.duties.suspects import Suspects
from holdfastd.steward.duties.time_file import time_file
from holdfastd.steward.duties.undeclared_schedules import UndeclaredSchedules
from holdfastd.steward.duties.unserved import unserved
from holdfastd.steward.duties.vouch import vouching
from holdfastd.steward.duties.webhooks import Webhooks
from holdfastd.steward.duty import Duty, tend
from holdfastd.steward.health import Health
from holdfastd.steward.lock_files import LockFiles
from holdfastd.steward.roster import WorkerRoster
from holdfastd.steward.shutdown import StewardShutdown
from holdfastd.steward.spec import StewardSpec

BEAT_EVERY = 1.0  # seconds
LEAVE_WITHIN = 5.0  # seconds, where a signal gives no deadline

_log = structlog.get_logger("holdfast.steward")


def _log_mark(line: str) -> None:
    _log.warning("hosts were told to claim nothing", mark=line)


@dataclass(frozen=True, slots=True)
class Steward:
    """`own_process`: its signals are for this steward; else others live in it."""

    spec: StewardSpec
    store: Store
    link: Link
    recovered: Recovered
    own_process: bool = True
    family: WorkerRoster = field(default_factory=WorkerRoster)
    health: Health = field(default_factory=Health)
    ending: StewardShutdown = field(default_factory=StewardShutdown)

    async def live(self) -> ChildExit:
        """Until told to leave, or the parent is gone, or the store is unfit at the first boot."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._heed_parent, group)
            if self.own_process:
                group.start_soon(self._heed_signals, group)
            group.start_soon(self._serve, group)
            await self.ending.decided()
            group.cancel_scope.cancel()
        return self.ending.code

    async def _heed_parent(self, group: TaskGroup) -> None:
        while (message := await self.link.receive()) is not None:
            match message:
                case Born():
                    self.family.born(message)
                case Died():
                    self.family.died(message)
                case Leave(deadline):
                    group.start_soon(self._leave, deadline)
                case Drain():
                    pass  # for workers
        self.ending.finish(ChildExit.ORPHANED)

    async def _heed_signals(self, group: TaskGroup) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                group.start_soon(self._leave, time.monotonic() + LEAVE_WITHIN)

    async def _leave(self, deadline: float) -> None:
        with anyio.move_on_after(deadline - time.monotonic()):
            await self.family.mourned()
        self.ending.finish(ChildExit.OK)

    async def _serve(self, group: TaskGroup) -> None:
        duties = tuple(self._duties())  # before the first worker is born: see Orphans
        failed = await preflight(self.store, self.spec.settings) if self.spec.first else None
        if failed is not None:
            self.link.send(failed)
            return self.ending.finish(ChildExit(failed.code))
        self.link.send(Ready())
        group.start_soon(self._beat)
        for duty in duties:
            group.start_soon(tend, duty, self.health)
        return None

    def _duties(self) -> Iterator[Duty]:
        store, settings = self.store, self.spec.settings
        locks = LockFiles(settings.runtime_dir / "incarnations")
        strangers = locks.incarnations() if self.spec.first else ()
        terms = LeaseSettings(settings.lease, settings.lease_grace, settings.max_crashes)
        watch = ClockWatch(store, self.health, settings.lease, time.monotonic)
        suspects = Suspects(store, settings.lane_names, self.family)

        def recovered(count: int, cause: str) -> None:
            self.recovered(count, cause)
            suspects.look()

        yield Recovery(store, self.family, locks, self.link.send, recovered, settings.max_crashes).duty()
        yield Orphans(store, self.family, locks, recovered, strangers, settings.max_crashes).duty()
        yield vouching(store, self.family, settings.lease)
        yield ExpiredLeases(store, watch, terms, recovered).duty()
        yield promotion(store, suspects.look)
        yield suspects.duty(self.link.send)
        halts, longest_rest = self.spec.halts, settings.scan_interval
        yield scheduling(store, settings.queue_name, settings.max_message_bytes, longest_rest, halts)
        yield saying_marks(store, halts, _log_mark)
        if settings.time_file is not None:
            yield time_file(store, settings.time_file)
        yield LaneLimits(store, settings).duty()
        yield from bells(store, settings.lane_names)
        for lane in settings.lane_names:
            yield Audit(store, lane).duty()
        yield unserved(store, settings.unknown_handler_timeout)
        yield UndeclaredSchedules(store).duty()
        yield trimming(store, settings.keep, watch)
        yield fitness(store)
        yield Webhooks(store, settings).duty()
        if isinstance(store, Ledger):
            yield LedgerDuty(store, self.health).duty()
        else:
            yield DataLoss(store, self.health).duty()
            yield Rollbacks(store, self.health).duty()
        if settings.burst:
            yield burst(store, settings.lane_names, self.link.send)

    async def _beat(self) -> None:
        while True:
            self.link.send(Beat(degraded=self.health.degraded))
            await anyio.sleep(BEAT_EVERY)
