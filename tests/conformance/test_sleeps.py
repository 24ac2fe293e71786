"""Sleeps: one end each, recorded under the latest claim, and a task that is given back until then."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Delivery, Settle
from holdfast.core.steps import MOST_STEPS, SLEEP, SleepKept, StepVerdict
from holdfast.core.tasks import TaskRecord
from tests.conformance.stand import Stand
from tests.conformance.test_steps import claimed, recorded

pytestmark = pytest.mark.anyio

OK = StepVerdict.OK
HOUR = 3_600_000


async def sleep(stand: Stand, run: Delivery, place: int = 0, milliseconds: int = HOUR) -> SleepKept:
    return await stand.store.sleep("t", run.claim, place, SLEEP, milliseconds)


async def asleep(stand: Stand) -> Delivery:
    """The run of task `t` in worker `a` that has gone to sleep for an hour."""
    run = await claimed(stand)
    kept = await sleep(stand, run)
    await stand.settle("a", run, Settle.SLEEP, delay_ms=kept.due_ms)
    return run


def counters(task: TaskRecord) -> tuple[int, int, int]:
    return task.attempts, task.crashes, task.releases


async def test_a_sleep_has_one_end_for_each_call_and_run(stand: Stand) -> None:
    run = await claimed(stand)
    first = await sleep(stand, run)
    assert (first.verdict, first.left_ms) == (OK, HOUR)
    await stand.advance(1000)
    assert await sleep(stand, run, milliseconds=5) == SleepKept(OK, SLEEP, first.due_ms, HOUR - 1000)
    await stand.advance(HOUR)
    assert await sleep(stand, run) == SleepKept(OK, SLEEP, first.due_ms, 0)
    assert await recorded(stand, "t") == [(0, SLEEP, str(first.due_ms).encode())]


async def test_a_task_sleeps_until_the_recorded_end_and_nothing_is_counted(stand: Stand) -> None:
    await asleep(stand)
    task = await stand.task("t")
    [step] = await stand.store.recorded_steps("t")
    assert (task.state, task.due_ms, counters(task)) == ("delayed", int(step.result), (0, 0, 0))
    await stand.store.promote(10)
    assert await stand.take("a") == []
    await stand.advance(HOUR)
    [run] = await stand.take("a")
    assert (run.run, run.turn, (await sleep(stand, run)).left_ms) == (2, 1, 0)
    await stand.settle("a", run, Settle.COMPLETED)
    assert counters(await stand.task("t")) == (0, 0, 0)


async def test_only_the_latest_claim_sleeps(stand: Stand) -> None:
    old = await claimed(stand)
    await stand.crash("a")
    assert (await sleep(stand, old)).verdict is StepVerdict.LOST
    await stand.register("b")
    [new] = await stand.take("b")
    assert (await sleep(stand, old)).verdict is StepVerdict.LOST
    kept = await sleep(stand, new)
    assert await stand.settle("b", old, Settle.SLEEP, delay_ms=kept.due_ms) == "LOST"
    assert await stand.state("t") == "working"


async def test_a_sleep_and_a_step_are_not_each_other(stand: Stand) -> None:
    run = await claimed(stand)
    await stand.store.step("t", run.claim, 0, "fetch", b"1")
    assert await sleep(stand, run) == SleepKept(StepVerdict.OTHER, "fetch")
    await sleep(stand, run, 1)
    assert (await stand.store.step("t", run.claim, 1, "fetch", b"1")).name == SLEEP
    assert (await sleep(stand, run, MOST_STEPS)).verdict is StepVerdict.FULL


async def test_a_worker_that_dies_between_the_record_and_the_settlement_changes_no_end(stand: Stand) -> None:
    run = await claimed(stand)
    first = await sleep(stand, run)
    await stand.crash("a")
    await stand.advance(1000)
    await stand.register("b")
    [again] = await stand.take("b")
    assert (await sleep(stand, again)).due_ms == first.due_ms
    await stand.settle("b", again, Settle.SLEEP, delay_ms=first.due_ms)
    assert (await stand.task("t")).due_ms == first.due_ms


@pytest.mark.parametrize("how", ["resumed", "retried"])
async def test_a_task_that_runs_before_its_sleep_ends_sleeps_on_until_the_same_time(stand: Stand, how: str) -> None:
    await asleep(stand)
    due = (await stand.task("t")).due_ms
    if how == "resumed":
        await stand.store.resume("t", "asked")
        assert await stand.state("t") == "delayed"
        await stand.store.pause("t", "asked")
        assert await stand.state("t") == "suspended"
        await stand.store.resume("t", "asked")
    else:
        await stand.store.retry("t", "asked")
    [run] = await stand.take("a")
    assert (await sleep(stand, run)).due_ms == due


async def test_a_message_waits_for_the_turn_that_sleeps(stand: Stand) -> None:
    await asleep(stand)
    assert await stand.message("t", "m2") == "pending"
    assert await stand.state("t") == "delayed"
    await stand.advance(HOUR)
    [run] = await stand.take("a")
    assert run.turn == 1


async def test_a_task_that_sleeps_can_be_canceled(stand: Stand) -> None:
    await asleep(stand)
    await stand.store.cancel("t", "asked")
    assert await stand.state("t") == "canceled"
    await stand.advance(HOUR)
    assert await stand.take("a") == []


async def test_a_pause_that_was_asked_for_is_carried_out_as_the_task_goes_to_sleep(stand: Stand) -> None:
    run = await claimed(stand)
    await stand.store.pause("t", "asked")
    kept = await sleep(stand, run)
    await stand.settle("a", run, Settle.SLEEP, delay_ms=kept.due_ms)
    assert await stand.state("t") == "suspended"


async def test_a_sleep_ends_the_row_of_lost_workers(stand: Stand) -> None:
    run = await claimed(stand)
    for worker in ("b", "c"):
        await stand.crash(run.claim.split(":")[1], charged=False)
        await stand.register(worker)
        [run] = await stand.take(worker)
    kept = await sleep(stand, run, milliseconds=10)
    await stand.settle("c", run, Settle.SLEEP, delay_ms=kept.due_ms)
    await stand.advance(10)
    [run] = await stand.take("c")
    await stand.crash("c", charged=False)
    assert not (await stand.task("t")).solo
