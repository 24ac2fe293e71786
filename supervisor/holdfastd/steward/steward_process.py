"""The steward: it reads the parent's messages, runs its duties concurrently, and ends when the parent tells it to."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from holdfast.exits import ChildExit
from holdfast.ipc.channel import Beat, Born, Died, Drain, Leave, Link, Logged, Ready, Silent, until_next
from holdfast.ipc.child_end import ParentLink
from holdfast.store import Store, ledger_of, open_store
from holdfast.telemetry.logs import SentLogs, sent_logs
from holdfast.telemetry.port import GRPC, Telemetry, open_in_steward
from holdfast_config.logging import tell_left_out
from holdfast_config.standard_error import STREAM
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duties import store_duties, upkeep, worker_recovery
from holdfastd.steward.duties.bells import bells
from holdfastd.steward.duties.host_duties import host_marks
from holdfastd.steward.duties.lane_duties import LaneAudit, LaneLimits, lane_depths, lane_tending
from holdfastd.steward.duties.orphans import Orphans
from holdfastd.steward.duties.schedule_duties import UndeclaredSchedules, schedule_fires
from holdfastd.steward.duties.webhook_duties import Webhooks
from holdfastd.steward.duty import Duty, Health, run_duty
from holdfastd.steward.roster import LockFiles, WorkerRoster
from holdfastd.steward.steward_spec import StewardSpec

LEAVE_WITHIN = 5.0  # seconds after a signal; a message of the parent has a deadline of its own

_log = structlog.get_logger("holdfast.steward")


def _to_be_decided() -> asyncio.Future[ChildExit]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class Steward:
    """One steward, from its start to its exit status. `own_process`: it has a process of its own and handles signals.
    `log_of_parent`: called with each record that the parent has logged. `ending`: gets the exit status."""

    spec: StewardSpec
    store: Store
    link: Link
    telemetry: Telemetry
    own_process: bool = True
    log_of_parent: Callable[[Mapping[str, Any]], object] = field(default=lambda _: None)
    roster: WorkerRoster = field(default_factory=WorkerRoster)
    health: Health = field(default_factory=Health)
    ending: asyncio.Future[ChildExit] = field(default_factory=_to_be_decided)
    recoveries: Counter[str] = field(default_factory=Counter[str])  # tasks put back, by the cause of the worker's death
    lost_runs: store_duties.LostRuns = field(init=False)

    def __post_init__(self) -> None:
        self.lost_runs = store_duties.LostRuns(self.store, self.telemetry, self.spec.settings.handler or "")

    async def live(self) -> ChildExit:
        """Run until the parent or a signal ends the steward, the parent is gone, or the first preflight fails. Returns
        the exit status."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._heed_parent, group)
            if self.own_process:
                group.start_soon(self._heed_signals, group)
            group.start_soon(self._serve, group)
            await self.ending
            group.cancel_scope.cancel()
        return self.ending.result()

    def _end(self, code: ChildExit) -> None:
        """End with this exit status. A later call changes nothing."""
        if not self.ending.done():
            self.ending.set_result(code)

    async def _heed_parent(self, group: TaskGroup) -> None:
        while (message := await self.link.receive()) is not None:
            match message:
                case Born():
                    self.roster.worker_started(message)
                case Died():
                    self.roster.worker_died(message)
                case Silent():
                    self.roster.worker_silent(message)
                case Leave(deadline):
                    group.start_soon(self._leave, deadline)
                case Logged(record):
                    self.log_of_parent(record)
                case Drain():
                    pass  # for workers
        self._end(ChildExit.ORPHANED)

    async def _heed_signals(self, group: TaskGroup) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                group.start_soon(self._leave, time.monotonic() + LEAVE_WITHIN)

    async def _leave(self, deadline: float) -> None:
        with anyio.move_on_after(deadline - time.monotonic()):
            await self.roster.all_recorded()
            await self.lost_runs.all_reported()
        self._end(ChildExit.OK)

    async def _serve(self, group: TaskGroup) -> None:
        if self.spec.metrics is not None or self.spec.settings.otlp_endpoint is not None:
            from holdfastd.steward.metrics.serve import export_metrics  # only if metrics are served or pushed

            group.start_soon(export_metrics, self.spec, self.store, self.health, self.recoveries)
        duties = tuple(self._duties())  # lists lock files before the first worker is forked, for Orphans
        failed = await store_duties.preflight(self.store, self.spec.settings) if self.spec.first else None
        if failed is not None:
            self.link.send(failed)
            self._end(ChildExit(failed.code))
            return
        self.link.send(Ready())
        group.start_soon(self._beat)
        for duty in duties:
            group.start_soon(run_duty, duty, self.health)

    def _duties(self) -> Iterator[Duty]:
        store, settings = self.store, self.spec.settings
        locks = LockFiles(settings.runtime_dir / "incarnations")
        foreign = locks.incarnations() if self.spec.first else ()
        watch = ClockWatch(store, self.health, settings.lease)
        suspects = upkeep.Suspects(store, settings.lane_names, self.roster, self.link.send)
        most_crashes = settings.max_crashes

        def recovered(incarnation: str, count: int, cause: str) -> None:
            self.recoveries[cause.partition(":")[0]] += count  # the text after the colon is free, and no label
            if count and self.telemetry.traces:
                self.lost_runs.add(incarnation)
            suspects.look()

        yield worker_recovery.WorkerRecovery(store, self.roster, locks, self.link.send, recovered, most_crashes).duty()
        yield worker_recovery.SilentWorkers(store, self.roster, locks).duty()
        yield Orphans(store, self.roster, locks, recovered, foreign, most_crashes).duty()
        yield worker_recovery.lease_renewal(store, self.roster, settings.lease)
        yield worker_recovery.ExpiredLeases(store, watch, settings, recovered).duty()
        yield upkeep.promotion(store, suspects.look)
        yield suspects.duty()
        halts, longest_rest = self.spec.halts, settings.scan_interval
        yield schedule_fires(
            store, settings.queue_name, settings.max_message_bytes, longest_rest, halts, self.telemetry.fires
        )
        yield host_marks(store, halts, lambda line: _log.warning("this host is quiet or halted", mark=line))
        if settings.time_file is not None:
            yield upkeep.time_file(store, settings.time_file)
        yield LaneLimits(store, settings).duty()
        yield from bells(store, settings.lane_names)
        for lane in settings.lane_names:
            yield LaneAudit(store, lane).duty()
        yield lane_tending(store, settings.lane_names)
        yield lane_depths(store)
        yield upkeep.unserved_tasks(store, settings.unknown_handler_timeout)
        yield UndeclaredSchedules(store).duty()
        yield upkeep.batch_counts(store)
        yield upkeep.retention(store, settings.keep, watch)
        yield store_duties.preflight_duty(store, settings.lane_names)
        yield Webhooks(store, settings).duty()
        yield upkeep.Rollups(store).duty()
        if self.telemetry.traces:
            yield self.lost_runs.duty()
        if ledger := ledger_of(store):
            yield store_duties.LedgerDuty(ledger, self.health).duty()
        else:
            yield store_duties.EmptiedStore(store, self.health).duty()
            yield store_duties.StoreRollbacks(store, self.health).duty()
        if settings.burst:
            yield upkeep.burst_progress(store, settings.lane_names, self.link.send)

    async def _beat(self) -> None:
        while True:
            self.link.send(Beat(degraded=self.health.degraded))
            tell_left_out()
            await anyio.sleep(until_next(time.monotonic()))


# Runs the steward process, from the fork to its exit status.

SAY_GOODBYE = 1.0  # seconds for the last messages to reach the parent


def run(spec: StewardSpec, channel: socket.socket) -> int:
    """Run the steward until it is told to end; returns its exit status."""
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    settings = spec.settings
    with sent_logs(settings.otlp_endpoint, "holdfast-steward", grpc=settings.otlp_protocol == GRPC) as logs:
        try:
            return anyio.run(_serve, spec, channel, logs, backend_options={"use_uvloop": True})
        except Exception:
            _log.exception("the steward failed")
            return ChildExit.BUG


async def _serve(spec: StewardSpec, channel: socket.socket, logs: SentLogs) -> ChildExit:
    link = ParentLink(channel)
    async with open_store(spec.settings.redis, spec.settings.postgres) as store:
        telemetry = open_in_steward(spec.settings, store.address)
        code = await Steward(spec, store, link, telemetry, log_of_parent=logs.relay).live()
        await link.flush(SAY_GOODBYE)
    logs.flush_beside(telemetry.shutdown)
    return code
