"""A worker is killed with -9 at every moment of a delivery: always one commit, never a loss.

A crash is charged from the moment on at which the delivery has begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config.kill_spec import Point
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("point", "runs", "deliveries", "crashes"),
    [
        (Point.BELL, {1}, {1, 2}, False),  # its request waited behind the bell: it may have claimed the task
        (Point.PULL_SENT, {1}, {1, 2}, False),
        (Point.PULLED, {1}, {2}, False),
        (Point.HANDLER, {1}, {2}, True),
        (Point.BEFORE_SETTLE, {2}, {2}, True),
        (Point.SETTLE_SENT, {1, 2}, {1, 2}, True),
        (Point.SETTLED, {1}, {1}, False),
    ],
)
async def test_worker_killed_at(
    point: Point, runs: set[int], deliveries: set[int], crashes: bool, short_path: Path
) -> None:
    async with stage(short_path, kill_at=[point]) as scene:
        scene.rests(2)  # else the task is there for the first pull of a worker, and its bell means nothing
        scene.pool.order(point)
        await scene.submit("t", text="echo")
        killed = scene.pool.until("died")["pid"]
        record = await scene.completed("t")
        assert scene.runs("t") in runs
        assert record.deliveries in deliveries
        assert record.crashes == (record.deliveries - 1 if crashes else 0)
        last_run_by = [scene.started("t")[1] for _ in range(scene.runs("t"))][-1]
        reported = point is Point.SETTLED or (point is Point.SETTLE_SENT and record.deliveries == 1)
        assert (last_run_by == killed) == reported
        scene.pool.ready(3)
        assert scene.pool.deaths()[0].endswith("signal: SIGKILL")
