"""submit: one record a task, one turn a message, whatever is sent twice."""

from __future__ import annotations

import pytest

from holdfast.core.acceptance import Accepted, SubmitOptions
from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def test_the_same_submit_twice_is_one_task(space: Namespace) -> None:
    assert await space.submit("t1") == [Accepted.NEW]
    assert await space.submit("t1") == [Accepted.DUPLICATE]
    assert len(await space.entries()) == 1
    await space.check()


async def test_the_same_message_with_other_content_is_a_conflict(space: Namespace) -> None:
    await space.submit("t1")
    assert await space.message("t1", "m-t1", "other") is Accepted.CONFLICT
    await space.register("a")
    [delivery] = await space.take("a")
    assert b"hello" in delivery.operation
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.message("t1", "m-t1", "other") is Accepted.CONFLICT
    assert await space.submit("t1") == [Accepted.DUPLICATE]
    await space.check()


async def test_a_batch_answers_each_of_its_submissions(space: Namespace) -> None:
    answers = await space.submit("t1", "t2", "t1")
    assert answers == [Accepted.NEW, Accepted.NEW, Accepted.DUPLICATE]
    assert (await space.store.counts()).counters["accepted"] == 2


@pytest.mark.parametrize("options", [None, SubmitOptions(unique="u")])
async def test_a_lane_that_is_no_list_takes_no_task(space: Namespace, options: SubmitOptions | None) -> None:
    taken = f"{space.queue}:taken"
    batch = [submission("t1", taken, options=options), submission("t2", space.queue)]

    async def submit() -> list[Accepted]:
        return (
            [one.accepted for one in await space.store.submit_with_options(batch)]
            if options
            else await space.store.submit(batch)
        )

    await space.do("HSET", taken, "a", "1")
    assert await submit() == [Accepted.NO_LIST, Accepted.NEW]
    assert not await space.do("KEYS", space.key("*t1*"))
    await space.do("DEL", taken)
    assert await submit() == [Accepted.NEW, Accepted.DUPLICATE]
    assert await space.state("t1") == "submitted"


async def test_an_ended_task_takes_no_message(space: Namespace) -> None:
    await space.submit("t1")
    await space.store.cancel("t1", "enough")
    assert await space.message("t1", "m2") is Accepted.TERMINAL
    await space.check()


async def test_a_delayed_task_waits_outside_the_lane(space: Namespace) -> None:
    await space.store.submit([submission("t1", space.queue, delay_ms=500)])
    assert await space.state("t1") == "delayed"
    assert await space.entries() == []
    assert await space.do("LLEN", space.key("control:steward")) == 1
    await space.check()


async def test_a_due_time_in_the_past_means_now(space: Namespace) -> None:
    await space.store.submit([submission("t1", space.queue, due_ms=space.clock.now_ms - 1)])
    assert await space.state("t1") == "submitted"


async def test_lanes_have_lists_bells_and_numbers_of_their_own(space: Namespace) -> None:
    outside = f"{space.queue}:high"
    lanes = {space.queue: space.queue, "slow": space.key("lane:slow"), outside: outside}
    for number, lane in enumerate(lanes):
        await space.store.submit([submission(f"t{number}", lane)])
    for lane, key in lanes.items():
        assert len(await space.entries(key)) == 1
        assert await space.do("LLEN", space.key(f"bell:{lane}")) == 1
    assert set(await space.do("HVALS", space.key("seq"))) == {b"1"}
    await space.check()


async def test_an_entry_is_the_producers_bytes_behind_one_more_key(space: Namespace) -> None:
    wanted = submission("t1", space.queue)
    await space.store.submit([wanted])
    [entry] = await space.entries()
    assert entry == b'{"_b":"t1:1",' + wanted.operation[1:]
    await space.register("a")
    assert (await space.take("a"))[0].operation == wanted.operation
