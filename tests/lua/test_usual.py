"""A part that answers the usual calls of an operation answers and writes what the operation would."""

from __future__ import annotations

import pytest

from tests.lua.twins import play_twins, twins

pytestmark = pytest.mark.anyio

STEPS = 250


@pytest.mark.parametrize("seed", range(1, 5))
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
