"""A handful of plays; `python -m tests.lua.fuzz` plays as many as one likes."""

from __future__ import annotations

import pytest

from tests.lua.fuzz import play

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STEPS = 1500


@pytest.mark.seeds(2, of=(2, 3, 4, 6, 8))  # each of these plays makes suspects
async def test_the_promise_survives_whatever_goes_wrong(server_url: str, seed: int) -> None:
    seen = await play(server_url, seed, STEPS)
    assert seen["settle OK"] > 50
    assert seen["joined"] > 0
    assert seen["suspects"] > 0
    assert seen["taken back"] > 0
    assert seen["orders heard"] > 0
    assert seen["stale removed"] > 0


@pytest.mark.seeds(1, of=(1, 2, 3, 4, 5))
@pytest.mark.parametrize("rollback", [False, True])
@pytest.mark.parametrize("lanes", [1, 3])
async def test_usual_calls_keep_the_promise_through_kills_and_lost_commands(
    server_url: str, seed: int, *, rollback: bool, lanes: int
) -> None:
    seen = await play(server_url, seed, STEPS, plain=lanes, rollback=rollback)
    assert seen["settle OK"] > 30


@pytest.mark.parametrize("lanes", [1, 3])
async def test_usual_calls_claim_ahead_through_kills_and_lost_commands(server_url: str, lanes: int) -> None:
    seen = await play(server_url, 3, STEPS, plain=lanes)
    assert seen["ahead"] > 0


@pytest.mark.seeds(1, of=(1, 2, 4, 5, 6))  # each of these plays sets the store back
async def test_the_invariants_survive_a_store_that_forgets(server_url: str, seed: int) -> None:
    seen = await play(server_url, seed, STEPS, rollback=True)
    assert seen["rollback"] > 0
