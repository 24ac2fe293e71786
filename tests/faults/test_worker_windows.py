"""A worker is killed with -9 at every moment of a delivery: always one commit, never a loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import windows
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("window", "runs", "deliveries", "crashes"),
    [
        (windows.BELL, 1, {1}, False),
        (windows.BEFORE_PULL, 1, {1}, False),
        (windows.PULL_SENT, 1, {1, 2}, True),
        (windows.PULLED, 1, {2}, True),
        (windows.HANDLER, 2, {2}, True),
        (windows.AFTER_HANDLER, 2, {2}, True),
        (windows.SETTLE_SENT, 1, {1}, False),
        (windows.SETTLED, 1, {1}, False),
    ],
)
async def test_worker_killed_at(window: str, runs: int, deliveries: set[int], crashes: bool, short_path: Path) -> None:
    async with stage(short_path) as scene:
        scene.pool.order(window)
        await scene.submit("t", text="echo")
        killed = scene.pool.until("died")["pid"]
        record = await scene.completed("t")
        assert scene.runs("t") == runs
        assert record.deliveries in deliveries
        assert record.crashes == (record.deliveries - 1 if crashes else 0)
        last_run_by = [scene.started("t")[1] for _ in range(runs)][-1]
        assert (last_run_by == killed) == (window in {windows.SETTLE_SENT, windows.SETTLED})
        scene.pool.ready(3)
        assert scene.pool.deaths()[0].endswith("signal: SIGKILL")
