"""A task that has ended two workers is to run alone, whatever comes between."""

from __future__ import annotations

import time

import pytest

from tests.faults.network import behind_a_proxy, kill_worker
from tests.faults.proxy import Action

pytestmark = pytest.mark.anyio

FOR_EVER = 1_000_000
LEASE = 1.0  # seconds


async def test_a_worker_whose_lease_ended_before_it_was_free_for_it_runs_it_when_it_holds_again() -> None:
    """It settles its last task past its lease and may claim nothing then; nothing of its own will make it ask again."""
    async with behind_a_proxy(workers=1, concurrency=2, lease=LEASE) as scene:
        await scene.submit("alone", text="wait")
        for _ in range(2):
            scene.started("alone")
            kill_worker(scene)
        await scene.submit("other", text="wait")
        scene.started("other")
        scene.happened("promoted", "alone")
        renew = scene.proxy.on("renew", Action.DROP, times=FOR_EVER)
        over = time.monotonic() + LEASE + 0.3
        while time.monotonic() < over:
            scene.news(0.1)
        scene.go("other")
        await scene.completed("other")
        renew.end()
        assert scene.started("alone")[0] == 3
        scene.go("alone")
        assert (await scene.completed("alone")).crashes == 2
