"""The pool becomes smaller while a claim is under way to the worker that goes: it is not lost, and not given back."""

from __future__ import annotations

import pytest

from tests.faults.network import behind_a_proxy
from tests.faults.proxy import Action

pytestmark = pytest.mark.anyio


async def test_worker_that_is_scaled_away_while_it_pulls_completes_what_it_gets() -> None:
    async with behind_a_proxy(workers=2, concurrency=1, redis_answer_timeout=60.0) as scene:
        await scene.submit("elsewhere", text="wait")
        _, busy = scene.started("elsewhere")
        scene.pool.until_status(lambda status: "1 task running" in status)  # who is idle goes first
        (idle,) = [p for p in scene.pool.status().processes if p.kind == "worker" and p.pid != busy]
        pull = scene.proxy.on("pull", Action.DELAY, about=idle.incarnation)
        told = scene.proxy.on("renew", Action.WATCH, about="draining")
        await scene.submit("t", text="wait")
        pull.wait()
        assert scene.pool.scale(1).target == 1
        told.wait()  # it has heard of it, and claims nothing more
        pull.release()
        assert scene.started("t")[1] == idle.pid
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.releases) == (1, 0)
        assert scene.pool.until("left")["pid"] == idle.pid
        scene.go("elsewhere")
        await scene.completed("elsewhere")
