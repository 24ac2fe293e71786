"""A part that answers the usual calls of an operation answers and writes what the operation would."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Settlement
from tests.conformance.stand import submission
from tests.lua.namespace import Namespace
from tests.lua.twins import play_twins, twins

pytestmark = pytest.mark.anyio

STEPS = 250


@pytest.mark.parametrize("seed", [1, 15, 18, 19, 46])  # together they notice all that breakages_fast has no test for
async def test_usual_calls_write_and_answer_what_the_whole_operation_does(server_url: str, seed: int) -> None:
    seen = await play_twins(server_url, seed, STEPS)
    assert seen["answered"] > STEPS // 10, seen


async def test_claims_ahead_are_written_and_answered_as_claims_are(server_url: str) -> None:
    async with twins(server_url, 1) as pair:
        await pair.both(lambda space: space.submit(*(f"t{n}" for n in range(20))))
        one = (await pair.usual.pull("a", 2, ahead=3)).deliveries
        other = (await pair.whole.pull("a", 5)).deliveries
        assert len(one) == 5
        assert repr(one).replace(pair.usual.queue, "queue") == repr(other).replace(pair.whole.queue, "queue")
        await pair.usual.do("DEL", pair.usual.key("ahead"))
        await pair.compare()


@pytest.mark.parametrize("lost", ["digest", "message", "origin", "created", "seq"])
async def test_a_record_with_a_name_that_has_lost_a_field_is_not_usual(server_url: str, lost: str) -> None:
    """It has as many fields as one without a name."""
    async with twins(server_url, 1) as pair:
        await pair.both(lambda space: space.store.submit([submission("t1", space.queue, name="alpha")]))
        await pair.both(lambda space: space.do("HDEL", space.key("task:t1"), lost))
        before = await pair.answered()
        await pair.both(lambda space: space.pull("a", 2))
        assert await pair.answered() == before
        await pair.compare()


async def test_a_busy_worker_has_usual_claims_again_after_an_unusual_task(space: Namespace) -> None:
    """Each pull settles what the last one has claimed, and claims more: of usual ones no trail is left."""
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(20)))
    await space.do("HSET", space.key("task:t7"), "extra", "1")
    done = list[Settlement]()
    for _ in range(5):
        pulled = await space.pull("a", 4, *done)
        done = [Settlement(one.task_id, one.claim, Settle.COMPLETED, b"1") for one in pulled.deliveries]
    ended = [n for n in range(20) if await space.state(f"t{n}") == "completed"]
    assert ended == [*range(16)]
    assert [n for n in ended if await space.do("EXISTS", space.key(f"trail:t{n}"))] == [
        *range(8)
    ]  # settled in a call with t7


async def test_a_message_that_came_while_a_usual_task_ran_is_its_next_turn(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [run] = await space.take("a", 1)
    await space.message("t1", "m2")
    assert await space.settle("a", run, Settle.COMPLETED) == "OK"
    assert await space.state("t1") == "submitted"
    await space.check()
