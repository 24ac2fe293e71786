"""A handful of plays; `python -m tests.conformance.fuzz` plays as many as one likes."""

from __future__ import annotations

import pytest

from holdfast_config.settings import MEMORY
from tests.conformance.fuzz import play
from tests.lua.namespace import namespace

pytestmark = pytest.mark.anyio

STEPS = 400


@pytest.mark.seeds(1, of=(1, 2, 3))
async def test_memory_answers_as_a_server_does(server_url: str, seed: int) -> None:
    async with namespace(MEMORY) as memory, namespace(server_url) as server:
        seen = await play({"memory": memory, "server": server}, seed, STEPS)
    assert seen["claims"] > 50
    assert seen["settle OK"] > 30
