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
from tests.supervisor.stewards import AWAY, A, B, C, House, run_until

pytestmark = pytest.mark.anyio


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_deaths_are_recovered_in_the_order_told_and_acknowledged_with_their_counts(house: House) -> None:
    house.store.answers["recover"] = [3, 0]
    house.roster.worker_died(Died(B, "signal 9", charged=True))
    house.roster.worker_died(Died(A, "drain", charged=False))
    await house.recovery().run_once()
    assert house.called("recover") == [(B, "signal 9", True), (A, "drain", False)]
    assert house.acknowledged == [Acknowledged(B, 3), Acknowledged(A, 0)]
    assert house.counted == [(3, "signal 9"), (0, "drain")]


async def test_a_death_told_again_before_its_record_is_recorded_once(house: House) -> None:
    for _ in range(3):
        house.roster.worker_died(Died(A, "exit 1", charged=True))
    await house.recovery().run_once()
    assert len(house.acknowledged) == 1


async def test_a_death_told_again_after_its_record_is_acknowledged_again(house: House) -> None:
    house.store.answers["recover"] = [2, 0]
    for _ in range(2):
        house.roster.worker_died(Died(A, "exit 1", charged=True))
        await house.recovery().run_once()
    assert house.acknowledged == [Acknowledged(A, 2), Acknowledged(A, 0)]


async def test_while_the_store_is_away_deaths_wait_in_order(house: House) -> None:
    house.store.answers["recover"] = [AWAY, AWAY, 1, AWAY, 1]
    for incarnation in (A, B):
        house.roster.worker_died(Died(incarnation, "exit 1", charged=True))
    await run_until(house.recovery().duty(), house.health, lambda: len(house.acknowledged) == 2)
    assert [call[0] for call in house.called("recover")] == [A, A, A, B, B]
    assert house.health.degraded == ""


async def test_a_death_that_cannot_be_recorded_does_not_hold_up_the_others(house: House) -> None:
    house.store.answers["recover"] = [StoreError("WRONGTYPE"), 1, 1, 1]
    for incarnation in (A, B, C):
        house.roster.worker_died(Died(incarnation, "exit 1", charged=True))
    with capture_logs():
        await run_until(house.recovery().duty(), house.health, lambda: len(house.acknowledged) == 3)
    assert [each.incarnation for each in house.acknowledged] == [B, C, A]


async def test_the_lock_file_goes_once_the_death_is_recorded_and_not_before(house: House) -> None:
    path = house.lock_file(A)
    house.store.answers["recover"] = [AWAY]
    house.roster.worker_died(Died(A, "exit 1", charged=True))
    with pytest.raises(StoreUnavailableError):
        await house.recovery().run_once()
    assert path.exists()
    await house.recovery().run_once()
    assert not path.exists()


async def test_a_death_wakes_recovery_at_once(house: House) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run_duty, house.recovery().duty(), house.health)
        await anyio.wait_all_tasks_blocked()
        house.roster.worker_died(Died(A, "signal 9", charged=True))
        with anyio.fail_after(5):  # far below the pause between looks
            await house.roster.all_recorded()
        group.cancel_scope.cancel()
    assert house.acknowledged == [Acknowledged(A, 1)]
