"""A part that answers the usual calls of an operation answers and writes what the operation would."""

from __future__ import annotations

import pytest

from tests.lua.twins import play_twins

pytestmark = pytest.mark.anyio

STEPS = 250


@pytest.mark.parametrize("seed", range(1, 5))
async def test_usual_calls_write_and_answer_what_the_whole_operation_does(server_url: str, seed: int) -> None:
    seen = await play_twins(server_url, seed, STEPS)
    assert seen["answered"] > STEPS // 10, seen
