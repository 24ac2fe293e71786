"""Steps: recorded once, under the latest claim, and there for each later run of the task."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Delivery, Settle
from holdfast.core.steps import MOST_STEPS, StepKept, StepVerdict
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

OK = StepVerdict.OK


async def recorded(stand: Stand, task_id: str) -> list[tuple[int, str, bytes]]:
    return [(step.place, step.name, step.result) for step in await stand.store.recorded_steps(task_id)]


async def claimed(stand: Stand) -> Delivery:
    """Task `t`, in the hands of worker `a`."""
    await stand.register("a")
    await stand.submit("t")
    [delivery] = await stand.take("a")
    return delivery


async def test_a_step_is_recorded_and_a_repeated_call_changes_nothing(stand: Stand) -> None:
    run = await claimed(stand)
    for _ in range(2):
        assert await stand.store.step("t", run.claim, 0, "fetch", b'"page"') == StepKept(OK, "fetch")
    assert await stand.store.step("t", run.claim, 1, "a name\twith more", b"[1,\n2]") == StepKept(
        OK, "a name\twith more"
    )
    assert await recorded(stand, "t") == [(0, "fetch", b'"page"'), (1, "a name\twith more", b"[1,\n2]")]
    assert await recorded(stand, "unknown") == []
    heads = [(step.place, step.name, step.turn, step.size) for step in await stand.store.names_of_steps("t")]
    assert heads == [(0, "fetch", 1, 6), (1, "a name\twith more", 1, 6)]
    assert await stand.store.names_of_steps("unknown") == []


async def test_what_stands_at_a_place_is_never_changed(stand: Stand) -> None:
    run = await claimed(stand)
    await stand.store.step("t", run.claim, 0, "fetch", b"1")
    assert await stand.store.step("t", run.claim, 0, "other", b"1") == StepKept(StepVerdict.OTHER, "fetch")
    assert await stand.store.step("t", run.claim, 0, "fetch", b"2") == StepKept(StepVerdict.OTHER, "fetch")
    assert await recorded(stand, "t") == [(0, "fetch", b"1")]


async def test_only_the_latest_claim_records(stand: Stand) -> None:
    old = await claimed(stand)
    await stand.register("b")
    await stand.store.step("t", old.claim, 0, "fetch", b"1")
    await stand.crash("a")
    assert (await stand.store.step("t", old.claim, 1, "late", b"2")).verdict is StepVerdict.LOST
    [new] = await stand.take("b")
    assert (await stand.store.step("t", old.claim, 1, "late", b"2")).verdict is StepVerdict.LOST
    assert (await stand.store.step("t", new.claim, 1, "next", b"3")).verdict is OK
    await stand.settle("b", new, Settle.COMPLETED)
    assert (await stand.store.step("t", new.claim, 2, "after", b"4")).verdict is StepVerdict.LOST
    assert [name for _, name, _ in await recorded(stand, "t")] == ["fetch", "next"]


async def test_a_later_turn_and_a_retry_have_the_steps_of_before(stand: Stand) -> None:
    first = await claimed(stand)
    await stand.store.step("t", first.claim, 0, "fetch", b"1")
    await stand.settle("a", first, Settle.INPUT_REQUIRED)
    await stand.message("t", "m2")
    [second] = await stand.take("a")
    await stand.store.step("t", second.claim, 1, "think", b"2")
    assert [step.turn for step in (await stand.store.steps("t"))[0]] == [1, 2]
    await stand.settle("a", second, Settle.FAILED)
    again = (await stand.store.retry("t", "asked")).task_id
    assert await recorded(stand, again) == [(0, "fetch", b"1"), (1, "think", b"2")]


async def test_steps_are_bounded_in_number_and_in_size(stand: Stand) -> None:
    run = await claimed(stand)
    assert (await stand.store.step("t", run.claim, MOST_STEPS, "one more", b"1")).verdict is StepVerdict.FULL
    large = b'"' + b"x" * (1 << 20) + b'"'
    verdicts = [(await stand.store.step("t", run.claim, place, "large", large)).verdict for place in range(16)]
    assert verdicts == [OK] * 15 + [StepVerdict.FULL]  # of 16 MiB in all
    assert [place for place, _, _ in await recorded(stand, "t")] == [*range(15)]


async def test_steps_go_with_their_task(stand: Stand) -> None:
    run = await claimed(stand)
    await stand.store.step("t", run.claim, 0, "fetch", b"1")
    await stand.settle("a", run, Settle.COMPLETED)
    assert await recorded(stand, "t") == [(0, "fetch", b"1")]
    await stand.store.forget_tasks(["t"])
    assert await recorded(stand, "t") == []
