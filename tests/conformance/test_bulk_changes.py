"""Bulk changes as each store keeps them: how far they are, who carries them out, the last ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from holdfast.client.bulk_steps import CHANGED_AT_ONCE, BulkSteps
from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.bulk_changes import KEPT, PASSES, BulkChange, BulkState, BulkVerb, states_of
from holdfast.core.delivery import Settle
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Page, Wanted
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

WANTED = Wanted(states=(State.SUBMITTED,), lane="slow", older_ms=5, newest_first=True)
CHANGE = BulkChange("c", BulkVerb.CANCEL, "ü", "192.0.2.1", "lane=slow", WANTED, "text")


async def test_a_change_is_kept_with_its_filter_and_how_far_it_is(stand: Stand) -> None:
    store = stand.store
    begun = await store.begin_bulk(CHANGE)
    assert replace(begun, begun_ms=0, told_ms=0) == CHANGE
    assert await store.bulk_change("c") == begun
    after = begun.after(changed=2, refused=1, searched=400, cursor="x")
    assert await store.note_bulk(begun, after)
    kept = await store.bulk_change("c")
    assert kept is not None
    assert replace(kept, told_ms=0) == replace(after, told_ms=0)
    second = after.after(changed=0, refused=0, searched=1, cursor="")
    assert await store.note_bulk(after, second)
    kept = await store.bulk_change("c")
    assert kept is not None
    assert replace(kept, told_ms=0) == replace(second, told_ms=0)
    assert not await store.note_bulk(second, second.after(changed=0, refused=1, searched=1, cursor=""))
    [done] = await store.bulk_changes(9)
    assert (done.state, done.changed, done.refused, done.searched) == (BulkState.DONE, 2, 1, 401)
    assert (await store.bulk_change("none"), await store.resume_bulk("c"), await store.stop_bulk("c")) == (
        None,
        None,
        False,
    )


async def test_a_stop_is_not_overwritten_and_the_next_run_alone_writes(stand: Stand) -> None:
    store = stand.store
    first = await store.begin_bulk(CHANGE)
    assert await store.resume_bulk("c") is None, "it runs"
    assert await store.stop_bulk("c")
    stopped = first.after(changed=1, refused=0, searched=2, cursor="x")
    assert not await store.note_bulk(first, stopped)
    second = await store.resume_bulk("c")
    assert second is not None
    assert (second.run, second.state, second.cursor) == (2, BulkState.RUNNING, "x"), "the step before the stop counts"
    assert not await store.note_bulk(stopped, stopped.after(changed=10, refused=0, searched=20, cursor="late"))
    assert await store.note_bulk(second, second.after(changed=100, refused=0, searched=200, cursor="y"))
    kept = await store.bulk_change("c")
    assert kept is not None
    assert (kept.changed, kept.searched, kept.cursor) == (111, 222, "y"), (
        "every step counts, the last run has the place"
    )


async def test_of_two_that_resume_it_at_once_one_goes_on(stand: Stand) -> None:
    store = stand.store
    await store.begin_bulk(CHANGE)
    await store.stop_bulk("c")
    resumed = [run for run in await asyncio.gather(*(store.resume_bulk("c") for _ in range(4))) if run]
    going_on = [await store.note_bulk(run, run.after(changed=1, refused=0, searched=1, cursor="x")) for run in resumed]
    assert going_on.count(True) == 1, resumed


async def test_the_last_changes_are_kept(stand: Stand) -> None:
    for number in range(KEPT + 5):
        await stand.store.begin_bulk(replace(CHANGE, change_id=f"c{number:03}"))
    assert len(await stand.store.bulk_changes(1000)) == KEPT
    assert await stand.store.bulk_change("c000") is None


@pytest.mark.parametrize("text", ["", "word"])
async def test_steps_change_each_task_that_was_there_once(stand: Stand, text: str) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    await manager.run_tasks([TaskSpec(text="word", task_id=f"t{n}") for n in range(70)])
    steps = BulkSteps(stand.store, SubmitRetries())

    async def carry_out(verb: BulkVerb, **more: object) -> BulkChange:
        change = replace(CHANGE, verb=verb, wanted=Wanted(newest_first=True), text=text, **more)  # type: ignore[arg-type]
        change = await stand.store.begin_bulk(change)
        number = 0
        while change.state is BulkState.RUNNING:
            number += 1
            change = await steps.step(change)
            assert change.changed <= number * CHANGED_AT_ONCE
        return change

    assert (await carry_out(BulkVerb.RETRY)).changed == 0
    assert (await carry_out(BulkVerb.CANCEL)).changed == 70
    assert (await carry_out(BulkVerb.RETRY)).changed == 70
    assert (await carry_out(BulkVerb.RETRY)).changed == 0
    assert (await carry_out(BulkVerb.REMOVE)).changed == 70
    assert {task.state for task in (await manager.list_tasks()).tasks} == {State.SUBMITTED}


async def begun(stand: Stand, verb: BulkVerb, *states: State, name: str = "", change_id: str = "c") -> BulkChange:
    wanted = Wanted(states=states, name=name, newest_first=True)
    return await stand.store.begin_bulk(BulkChange(change_id, verb, "me", "here", "", wanted))


async def to_its_end(steps: BulkSteps, change: BulkChange) -> BulkChange:
    going_on = True
    while going_on:
        change, going_on = await steps.noted_step(change)
    return change


async def fail_all(stand: Stand, kind: Settle = Settle.FAILED) -> list[str]:
    """Claim what is there, and let it fail."""
    deliveries = await stand.take("a", 200)
    for delivery in deliveries:
        assert await stand.settle("a", delivery, kind, reason="boom", delay_ms=60_000) == "OK"
    return sorted(delivery.task_id for delivery in deliveries)


async def test_what_moves_behind_the_cursor_is_changed_by_the_next_pass(stand: Stand) -> None:
    await stand.submit(*(f"t{n:03}" for n in range(3 * CHANGED_AT_ONCE)), delay_ms=1_000)
    steps = BulkSteps(stand.store, SubmitRetries())
    change, _ = await steps.noted_step(await begun(stand, BulkVerb.CANCEL))
    assert change.changed == CHANGED_AT_ONCE
    await stand.advance(1_000)
    await stand.store.promote(1_000)
    change = await to_its_end(steps, change)
    assert (change.state, change.outcome) == (
        BulkState.DONE,
        f"{3 * CHANGED_AT_ONCE} changed, 0 refused of {3 * CHANGED_AT_ONCE} searched",
    )
    assert (await stand.store.counts()).states[State.CANCELED] == 3 * CHANGED_AT_ONCE


async def test_a_first_pass_of_several_steps_that_changes_nothing_is_no_proof(stand: Stand) -> None:
    await stand.submit(*(f"o{n:03}" for n in range(250)), name="other")
    await stand.submit("moves", name="wanted", delay_ms=1_000)
    steps = BulkSteps(stand.store, SubmitRetries())
    change, _ = await steps.noted_step(await begun(stand, BulkVerb.CANCEL, name="wanted"))
    assert (change.changed, bool(change.cursor)) == (0, True)
    await stand.store.retry("moves", "now")
    await stand.store.promote(10)
    [first] = (await stand.store.tasks(Wanted(newest_first=True), 1)).tasks
    assert first.task_id == "moves", "it stands before the cursor"
    assert (await to_its_end(steps, change)).changed == 1
    assert await stand.state("moves") == State.CANCELED


async def test_a_retry_that_fails_is_not_retried_by_the_change_that_made_it(stand: Stand) -> None:
    """The clock stands still: the retries are accepted in the millisecond in which the change began."""
    await stand.register("a")
    await stand.submit(*(f"t{n:03}" for n in range(CHANGED_AT_ONCE + 10)))
    failed = await fail_all(stand)
    steps = BulkSteps(stand.store, SubmitRetries())
    change = await begun(stand, BulkVerb.RETRY, State.FAILED)
    ran: list[str] = []
    going_on = True
    while going_on:
        change, going_on = await steps.noted_step(change)
        ran += await fail_all(stand)
    assert sorted(ran) == [f"{task_id}.r1" for task_id in failed]
    assert (change.changed, change.refused, change.pass_number) == (CHANGED_AT_ONCE + 10, 0, 2)
    again = await to_its_end(steps, await begun(stand, BulkVerb.RETRY, State.FAILED, change_id="c2"))
    assert again.changed == CHANGED_AT_ONCE + 10, "another change retries what has failed since"


@pytest.mark.parametrize("kind", [Settle.RETRY, Settle.FAILED])
async def test_a_delayed_task_is_made_due_once_by_a_change(stand: Stand, kind: Settle) -> None:
    """It fails at once, and is delayed again or has ended, while the change goes on."""
    await stand.register("a")
    await stand.submit(*(f"t{n:03}" for n in range(CHANGED_AT_ONCE + 10)), delay_ms=60_000)
    steps = BulkSteps(stand.store, SubmitRetries())
    change = await begun(stand, BulkVerb.RETRY)
    ran: list[str] = []
    going_on = True
    while going_on:
        change, going_on = await steps.noted_step(change)
        ran += await fail_all(stand, kind)
    assert sorted(ran) == [f"t{n:03}" for n in range(CHANGED_AT_ONCE + 10)], "each once"
    assert change.changed == CHANGED_AT_ONCE + 10


class LateSteps(BulkSteps):
    """Something happens while a step is on its way to the store (`before`), or between its look and its changes."""

    def __init__(self, stand: Stand, before: Callable[[], Awaitable[object]], after: Callable[[], Awaitable[object]]):
        super().__init__(stand.store, SubmitRetries())
        self._before, self._after = before, after

    async def found(self, wanted: Wanted, text: str, limit: int, cursor: str) -> Page:
        await self._before()
        page = await super().found(wanted, text, limit, cursor)
        await self._after()
        return page


async def nothing() -> None:
    """Nothing happens."""


async def test_what_is_accepted_while_a_step_is_on_its_way_is_left_alone(stand: Stand) -> None:
    await stand.submit("t1")
    change = await begun(stand, BulkVerb.CANCEL)

    async def later() -> None:
        await stand.advance(50)
        await stand.submit(f"late{(await stand.store.counts()).states[State.SUBMITTED]}")

    change = await to_its_end(LateSteps(stand, later, nothing), change)
    assert (change.changed, await stand.state("t1"), await stand.state("late1")) == (1, "canceled", "submitted")


async def test_what_has_left_the_filter_when_its_turn_comes_is_told(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    [delivery] = await stand.take("a", 1)

    async def complete() -> None:
        await stand.settle("a", delivery, Settle.COMPLETED)

    change = await to_its_end(LateSteps(stand, nothing, complete), await begun(stand, BulkVerb.CANCEL))
    assert change.outcome == "1 changed, 0 refused, 1 had moved out of the filter of 2 searched"
    kept = await stand.store.bulk_change("c")
    assert kept is not None
    assert (kept.moved, kept.outcome) == (1, change.outcome)

    async def remove() -> None:
        await stand.store.forget_tasks(["t1"])

    change = await to_its_end(LateSteps(stand, nothing, remove), await begun(stand, BulkVerb.REMOVE))
    assert (change.changed, change.refused, change.moved) == (1, 0, 1)


async def test_who_goes_on_looks_once_more(stand: Stand) -> None:
    """The step in which the run before was cut off is not noted: nobody knows what it has changed."""
    change = await begun(stand, BulkVerb.CANCEL)
    assert await stand.store.stop_bulk("c")
    resumed = await stand.store.resume_bulk("c")
    assert resumed is not None
    assert (await to_its_end(BulkSteps(stand.store, SubmitRetries()), resumed)).pass_number == 2
    assert change.after(changed=0, refused=0, searched=0, cursor="").state is BulkState.DONE


def test_passes_are_bounded_and_count_each_task_once() -> None:
    change = replace(CHANGE, cursor="x")
    for _ in range(PASSES):
        assert change.state is BulkState.RUNNING
        change = change.after(changed=1, refused=3, searched=10, cursor="")
    assert (change.state, change.pass_number) == (BulkState.DONE, PASSES)
    assert change.outcome.startswith(
        "10 changed, 3 refused of 19 searched; the last of its 10 passes changed some, too"
    )


def test_a_verb_changes_tasks_in_its_states() -> None:
    assert set(states_of(BulkVerb.REMOVE, [])) == TERMINAL
    assert set(states_of(BulkVerb.CANCEL, [])) == set(State) - TERMINAL
    assert states_of(BulkVerb.RETRY, [State.FAILED, State.COMPLETED]) == (State.FAILED,)
    assert states_of(BulkVerb.REMOVE, [State.WORKING]) == ()
