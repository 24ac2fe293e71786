"""Bulk changes as each store keeps them: how far they are, who carries them out, the last ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.client.bulk_steps import AT_ONCE, BulkSteps
from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.bulk_changes import KEPT, BulkChange, BulkState, BulkVerb, states_of
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Wanted
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
    assert not await store.note_bulk(after, after.after(changed=0, refused=0, searched=1, cursor=""))
    assert [(each.state, each.searched) for each in await store.bulk_changes(9)] == [(BulkState.DONE, 401)]
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
            assert change.changed <= number * AT_ONCE
        return change

    assert (await carry_out(BulkVerb.RETRY)).changed == 0
    assert (await carry_out(BulkVerb.CANCEL)).changed == 70
    assert (await carry_out(BulkVerb.RETRY)).changed == 70
    assert (await carry_out(BulkVerb.RETRY)).changed == 0
    assert (await carry_out(BulkVerb.REMOVE)).changed == 70
    assert {task.state for task in (await manager.list_tasks()).tasks} == {State.SUBMITTED}


def test_a_verb_changes_tasks_in_its_states() -> None:
    assert set(states_of(BulkVerb.REMOVE, [])) == TERMINAL
    assert set(states_of(BulkVerb.CANCEL, [])) == set(State) - TERMINAL
    assert states_of(BulkVerb.RETRY, [State.FAILED, State.COMPLETED]) == (State.FAILED,)
    assert states_of(BulkVerb.REMOVE, [State.WORKING]) == ()
