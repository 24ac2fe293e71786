"""The pool becomes smaller while a claim is under way to the worker that goes: it is not lost."""

from __future__ import annotations

import pytest

from tests.faults.network import behind_a_proxy
from tests.faults.proxy import Action
from tests.faults.workers import workers_once

pytestmark = pytest.mark.anyio


async def test_worker_that_is_scaled_away_while_it_pulls_completes_what_it_gets() -> None:
    async with behind_a_proxy(workers=2, concurrency=2, redis_answer_timeout=60.0) as scene:
        await scene.submit("a", "b", "c", text="wait")
        goes, _ = workers_once(scene, [1, 2])
        pull = scene.proxy.on("pull", Action.DELAY, about=goes.incarnation)
        told = scene.proxy.on("renew", Action.WATCH, about="draining")
        await scene.submit("t", text="wait")
        pull.wait()
        assert scene.pool.scale(1).target == 1
        told.wait()  # it has heard of it, and claims nothing more
        pull.release()
        assert scene.started("t")[1] == goes.pid
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.releases) == (1, 0)
        scene.go("a", "b", "c")
        assert scene.pool.until("ended as ordered")["pid"] == goes.pid
        for task_id in ("a", "b", "c"):
            await scene.completed(task_id)


async def test_what_waits_behind_a_bell_of_a_worker_that_is_scaled_away_goes_back() -> None:
    async with behind_a_proxy(workers=2, concurrency=1, redis_answer_timeout=60.0) as scene:
        await scene.submit("elsewhere", text="wait")
        scene.started("elsewhere")
        goes, _ = workers_once(scene, [0, 1])
        await scene.submit("before", text="wait")
        scene.started("before")
        pull = scene.proxy.on("pull behind", Action.DELAY, about=goes.incarnation)
        scene.go("before")
        await scene.completed("before")
        pull.met()
        workers_once(scene, [0, 1])
        await scene.submit("t")
        pull.wait()  # it has claimed the task, and does not know
        assert scene.pool.scale(1).target == 1
        assert scene.pool.until("ended as ordered")["pid"] == goes.pid
        scene.go("elsewhere")
        record = await scene.completed("t")
        assert (record.deliveries, record.releases, record.crashes, record.runs, scene.runs("t")) == (2, 0, 0, 1, 1)
