"""Vouching for our own workers, reaping the lost ones of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from holdfast.ipc.channel import Born, Died
from holdfast_config import Settings
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duties.upkeep import retention
from holdfastd.steward.duties.worker_recovery import ExpiredLeases, lease_renewal
from holdfastd.steward.duty import run_duty
from tests.steward.surroundings import A, B, DutySurroundings

pytestmark = pytest.mark.anyio


@pytest.fixture
def surroundings(tmp_path: Path) -> DutySurroundings:
    return DutySurroundings(tmp_path)


async def test_the_living_are_vouched_for_and_the_dead_no_more(surroundings: DutySurroundings) -> None:
    duty = lease_renewal(surroundings.store, surroundings.roster, lease=15.0)
    assert await duty.run_once() == 5.0
    assert surroundings.store.calls == []
    surroundings.roster.worker_started(Born(A))
    surroundings.roster.worker_started(Born(B))
    await duty.run_once()
    surroundings.roster.worker_died(Died(A, "signal 9", charged=True))
    await duty.run_once()
    assert surroundings.called("vouch") == [(A, B), (B,)]


async def test_a_new_steward_vouches_as_soon_as_it_hears_of_its_family(surroundings: DutySurroundings) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(
            run_duty, lease_renewal(surroundings.store, surroundings.roster, lease=600.0), surroundings.health
        )
        await anyio.wait_all_tasks_blocked()
        surroundings.roster.worker_started(Born(A))
        surroundings.roster.worker_started(Born(B))
        with anyio.fail_after(30):
            while not surroundings.store.calls:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert surroundings.called("vouch") == [(A, B)]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Reaper:
    surroundings: DutySurroundings
    clock: Clock = field(default_factory=Clock)
    skew_ms: int = 0

    def __post_init__(self) -> None:
        store = self.surroundings.store
        self.watch = ClockWatch(store, self.surroundings.health, 15.0, self.clock, self.clock)
        self.reaping = ExpiredLeases(store, self.watch, Settings(lease=15.0, lease_grace=5.0), self.surroundings.count)

    async def turns(self, seconds: float, run_id: str = "one") -> int:
        """Live that long in steps of a turn's pause; how often it reaped."""
        store, before, until = self.surroundings.store, len(self.surroundings.called("reap")), self.clock.now + seconds
        while self.clock.now < until:
            store.answers["run_id"] = [run_id]
            store.answers["clock_ms"] = [round(self.clock.now * 1000) + self.skew_ms]
            self.clock.now += await self.reaping.run_once()
        return len(self.surroundings.called("reap")) - before


async def test_nobody_is_reaped_before_the_steward_has_watched_for_a_lease(surroundings: DutySurroundings) -> None:
    reaper = Reaper(surroundings)
    assert await reaper.turns(15.0) == 0
    assert await reaper.turns(10.0) > 0
    assert surroundings.called("reap")[0] == (15_000, 5_000)


@pytest.mark.parametrize("disturbance", ["away", "restart", "clock"])
async def test_after_a_disturbance_nobody_is_reaped_for_a_lease(
    surroundings: DutySurroundings, disturbance: str
) -> None:
    reaper = Reaper(surroundings)
    await reaper.turns(30.0)
    run_id = "one"
    match disturbance:
        case "away":
            surroundings.health.outages += 1
        case "restart":
            run_id = "two"
        case _:
            reaper.skew_ms = 3_600_000
    assert await reaper.turns(15.0, run_id) == 0
    assert await reaper.turns(10.0, run_id) > 0


async def test_what_lost_workers_owned_is_counted(surroundings: DutySurroundings) -> None:
    reaper = Reaper(surroundings)
    await reaper.turns(20.0)
    surroundings.store.answers["reap"] = [{A: 2, B: 0}]
    with capture_logs():
        await reaper.turns(2.0)
    assert surroundings.counted == [(2, "lease"), (0, "lease")]


@pytest.mark.parametrize("back", [True, False])
async def test_nothing_is_trimmed_by_a_clock_that_was_set_forward(surroundings: DutySurroundings, back: bool) -> None:
    """It is, once the clock was set back, or was not for an hour."""
    reaper = Reaper(surroundings)
    trim = retention(surroundings.store, 60.0, reaper.watch)

    async def trimmed() -> bool:
        before = len(surroundings.called("trim"))
        surroundings.store.answers["clock_ms"] = [round(reaper.clock.now * 1000) + reaper.skew_ms]
        surroundings.store.answers["run_id"] = ["one"]
        await trim.run_once()
        return len(surroundings.called("trim")) > before

    await reaper.turns(30.0)
    assert await trimmed()
    reaper.skew_ms = 8 * 86_400_000
    with capture_logs():
        assert not await trimmed()
        await reaper.turns(3000.0)
        assert not await trimmed()
        reaper.skew_ms = 0 if back else reaper.skew_ms
        await reaper.turns(5.0 if back else 601.0)
        assert await trimmed()


@pytest.mark.parametrize("skew_ms", [59_000, 8 * 86_400_000])
@pytest.mark.parametrize("back", [True, False])
async def test_a_steward_that_starts_while_the_clock_is_ahead_trims_nothing(
    surroundings: DutySurroundings, skew_ms: int, back: bool
) -> None:
    """By its host's clock, as it has seen no jump. Clocks of hosts differ a little."""
    reaper = Reaper(surroundings)
    trim = retention(surroundings.store, 60.0, reaper.watch)

    async def trimmed() -> bool:
        before = len(surroundings.called("trim"))
        surroundings.store.answers["clock_ms"] = [round(reaper.clock.now * 1000) + reaper.skew_ms]
        await trim.run_once()
        return len(surroundings.called("trim")) > before

    reaper.skew_ms = skew_ms
    with capture_logs():
        assert await trimmed() is (skew_ms < 60_000)
        reaper.skew_ms = 0 if back else skew_ms
        await reaper.turns(5.0 if back else 3605.0)
        assert await trimmed()


async def test_a_jump_is_seen_by_the_trimming_itself(surroundings: DutySurroundings) -> None:
    clock = Clock()
    trim = retention(surroundings.store, 60.0, ClockWatch(surroundings.store, surroundings.health, 15.0, clock))
    for seconds, skew_ms in ((0.0, 0), (30.0, 0), (30.0, 3_600_000)):
        clock.now += seconds
        surroundings.store.answers["clock_ms"] = [round(clock.now * 1000) + skew_ms]
        with capture_logs():
            await trim.run_once()
    assert len(surroundings.called("trim")) == 2
