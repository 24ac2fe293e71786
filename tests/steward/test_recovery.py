"""Recording deaths: in order, once, whatever becomes of the store meanwhile."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.ipc.channel import Acknowledged, Died
from holdfastd.steward.duty import run_duty
from tests.steward.surroundings import AWAY, A, B, C, DutySurroundings, run_until

pytestmark = pytest.mark.anyio


@pytest.fixture
def surroundings(tmp_path: Path) -> DutySurroundings:
    return DutySurroundings(tmp_path)


async def test_deaths_are_recovered_in_the_order_told_and_acknowledged_with_their_counts(
    surroundings: DutySurroundings,
) -> None:
    surroundings.store.answers["recover"] = [3, 0]
    surroundings.roster.worker_died(Died(B, "signal 9", charged=True))
    surroundings.roster.worker_died(Died(A, "drain", charged=False))
    await surroundings.recovery().run_once()
    assert surroundings.called("recover") == [(B, "signal 9", True), (A, "drain", False)]
    assert surroundings.acknowledged == [Acknowledged(B, 3), Acknowledged(A, 0)]
    assert surroundings.counted == [(3, "signal 9"), (0, "drain")]


async def test_a_death_told_again_before_its_record_is_recorded_once(surroundings: DutySurroundings) -> None:
    for _ in range(3):
        surroundings.roster.worker_died(Died(A, "exit 1", charged=True))
    await surroundings.recovery().run_once()
    assert len(surroundings.acknowledged) == 1


async def test_a_death_told_again_after_its_record_is_acknowledged_again(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["recover"] = [2, 0]
    for _ in range(2):
        surroundings.roster.worker_died(Died(A, "exit 1", charged=True))
        await surroundings.recovery().run_once()
    assert surroundings.acknowledged == [Acknowledged(A, 2), Acknowledged(A, 0)]


async def test_while_the_store_is_away_deaths_wait_in_order(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["recover"] = [AWAY, AWAY, 1, AWAY, 1]
    for incarnation in (A, B):
        surroundings.roster.worker_died(Died(incarnation, "exit 1", charged=True))
    await run_until(surroundings.recovery().duty(), surroundings.health, lambda: len(surroundings.acknowledged) == 2)
    assert [call[0] for call in surroundings.called("recover")] == [A, A, A, B, B]
    assert surroundings.health.degraded == ""


async def test_a_death_that_cannot_be_recorded_does_not_hold_up_the_others(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["recover"] = [StoreError("WRONGTYPE"), 1, 1, 1]
    for incarnation in (A, B, C):
        surroundings.roster.worker_died(Died(incarnation, "exit 1", charged=True))
    with capture_logs():
        await run_until(
            surroundings.recovery().duty(), surroundings.health, lambda: len(surroundings.acknowledged) == 3
        )
    assert [each.incarnation for each in surroundings.acknowledged] == [B, C, A]


async def test_the_lock_file_goes_once_the_death_is_recorded_and_not_before(surroundings: DutySurroundings) -> None:
    path = surroundings.lock_file(A)
    surroundings.store.answers["recover"] = [AWAY]
    surroundings.roster.worker_died(Died(A, "exit 1", charged=True))
    with pytest.raises(StoreUnavailableError):
        await surroundings.recovery().run_once()
    assert path.exists()
    await surroundings.recovery().run_once()
    assert not path.exists()


async def test_a_death_wakes_recovery_at_once(surroundings: DutySurroundings) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run_duty, surroundings.recovery().duty(), surroundings.health)
        await anyio.wait_all_tasks_blocked()
        surroundings.roster.worker_died(Died(A, "signal 9", charged=True))
        with anyio.fail_after(5):  # far below the pause between looks
            await surroundings.roster.all_recorded()
        group.cancel_scope.cancel()
    assert surroundings.acknowledged == [Acknowledged(A, 1)]
