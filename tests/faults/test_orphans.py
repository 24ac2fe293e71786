"""The parent was killed, and its workers finish what they run: a start meanwhile leaves them alone."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from holdfastd.parent.folders import INCARNATIONS
from tests.faults.process import Pool
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio

LAST = "f" * 32  # orphans are looked at in the order of their names: once this one is recovered all were looked at


async def test_next_start_leaves_an_orphan_that_still_works_alone(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        (orphan,) = [each.incarnation for each in scene.pool.status().processes if each.kind == "worker"]
        first = scene.pool
        first.send(signal.SIGKILL)
        first.process.wait()
        (short_path / "run" / INCARNATIONS / f"{LAST}.lock").touch()
        scene.pool = Pool(short_path, scene.url, **scene.flags)
        try:
            scene.pool.until("orphaned worker recovered", incarnation=LAST)
            assert not scene.pool.said("orphaned worker recovered", incarnation=orphan)
            scene.pool.ready(1)
            scene.go("t")
            record = await scene.completed("t")
            assert (record.deliveries, record.crashes, scene.runs("t")) == (1, 0, 1)
            assert first.ended() == -signal.SIGKILL
        finally:
            first.close()
