"""The slot of a queue moves to another node of its Cluster while tasks run, are settled and come in."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from tests.constellations import cluster
from tests.faults.scene import stage
from tests.faults.work import QUEUE, entry

pytestmark = pytest.mark.anyio


async def test_a_slot_that_moves_key_by_key_costs_a_delay(short_path: Path) -> None:
    with cluster(short_path / "nodes") as nodes:
        async with stage(short_path, group=nodes) as scene:
            foreign = redis.RedisCluster(host=nodes.nodes[0].host, port=nodes.nodes[0].port)
            ended = [f"ended{n}" for n in range(10)]
            running = [f"running{n}" for n in range(5)]
            pushed = [f"pushed{n}" for n in range(10)]
            await scene.submit(*ended, text="quick")
            await scene.settled(*ended)
            await scene.submit(*running, text="wait")
            for task_id in running:
                scene.started(task_id)
            to = nodes.other(QUEUE)
            with nodes.moving(QUEUE, to) as move, foreign:
                move()
                scene.go(*running)  # their results come while nobody takes them
                scene.pool.until("the store does not answer; waiting")
                while move():
                    if pushed:
                        task_id = pushed.pop()
                        foreign.rpush(QUEUE, entry(task_id, "echo"))
                        ended.append(task_id)
            await scene.submit("after")
            for task_id in (*ended[10:], *running, "after"):
                record = await scene.completed(task_id)
                assert (record.deliveries, record.crashes, scene.runs(task_id)) == (1, 0, 1)
            assert nodes.owner(QUEUE) is to
            assert scene.pool.deaths() == []
