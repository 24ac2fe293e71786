"""One life of a steward: what it hears, the duties it does at the same time, and its end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.abc import TaskGroup

from holdfast.broker.port import Ledger, Store
from holdfast.channel import Beat, Born, Died, Drain, Leave, Link, Ready
from holdfast.exits import ChildExit
from holdfastd.steward.audit import Audit
from holdfastd.steward.bells import bells
from holdfastd.steward.bounding import Bounding
from holdfastd.steward.burst import burst
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duty import Duty, tend
from holdfastd.steward.ending import Ending
from holdfastd.steward.epochs import Epochs
from holdfastd.steward.family import Family
from holdfastd.steward.fitness import fitness, preflight
from holdfastd.steward.halts import saying_marks
from holdfastd.steward.health import Health
from holdfastd.steward.ledger import Keeping
from holdfastd.steward.lockfiles import LockFiles
from holdfastd.steward.orphans import Orphans
from holdfastd.steward.promotion import promotion
from holdfastd.steward.reaping import Reaping, Terms
from holdfastd.steward.recovery import Recovered, Recovery
from holdfastd.steward.rollbacks import Rollbacks
from holdfastd.steward.scheduling import scheduling
from holdfastd.steward.spec import StewardSpec
from holdfastd.steward.suspects import Suspects
from holdfastd.steward.time_file import time_file
from holdfastd.steward.trimming import trimming
from holdfastd.steward.undeclared import UndeclaredSchedules
from holdfastd.steward.unserved import unserved
from holdfastd.steward.vouching import vouching
from holdfastd.steward.webhooks import Webhooks

BEAT_EVERY = 1.0  # seconds
LEAVE_WITHIN = 5.0  # seconds, where a signal gives no deadline

_log = structlog.get_logger("holdfast.steward")


def _log_mark(line: str) -> None:
    _log.warning("hosts were told to claim nothing", mark=line)


@dataclass(frozen=True, slots=True)
class Life:
    """`own_process`: its signals are for this steward; else others live in it."""

    spec: StewardSpec
    store: Store
    link: Link
    recovered: Recovered
    own_process: bool = True
    family: Family = field(default_factory=Family)
    health: Health = field(default_factory=Health)
    ending: Ending = field(default_factory=Ending)

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
        terms = Terms(settings.lease, settings.lease_grace, settings.max_crashes)
        watch = ClockWatch(store, self.health, settings.lease, time.monotonic)
        suspects = Suspects(store, settings.lane_names, self.family)

        def recovered(count: int, cause: str) -> None:
            self.recovered(count, cause)
            suspects.look()

        yield Recovery(store, self.family, locks, self.link.send, recovered, settings.max_crashes).duty()
        yield Orphans(store, self.family, locks, recovered, strangers, settings.max_crashes).duty()
        yield vouching(store, self.family, settings.lease)
        yield Reaping(store, watch, terms, recovered).duty()
        yield promotion(store, suspects.look)
        yield suspects.duty(self.link.send)
        halts, longest_rest = self.spec.halts, settings.scan_interval
        yield scheduling(store, settings.queue_name, settings.max_message_bytes, longest_rest, halts)
        yield saying_marks(store, halts, _log_mark)
        if settings.time_file is not None:
            yield time_file(store, settings.time_file)
        yield Bounding(store, settings).duty()
        yield from bells(store, settings.lane_names)
        for lane in settings.lane_names:
            yield Audit(store, lane).duty()
        yield unserved(store, settings.unknown_handler_timeout)
        yield UndeclaredSchedules(store).duty()
        yield trimming(store, settings.keep, watch)
        yield fitness(store)
        yield Webhooks(store, settings).duty()
        if isinstance(store, Ledger):
            yield Keeping(store, self.health).duty()
        else:
            yield Epochs(store, self.health).duty()
            yield Rollbacks(store, self.health).duty()
        if settings.burst:
            yield burst(store, settings.lane_names, self.link.send)

    async def _beat(self) -> None:
        while True:
            self.link.send(Beat(degraded=self.health.degraded))
            await anyio.sleep(BEAT_EVERY)
