"""A child says nothing, and has a reason: its imports take long, or it is the parent that did not listen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.scene import stage
from tests.faults.work import named_pipe

pytestmark = pytest.mark.anyio

SLOW_ONCE = """
from pathlib import Path
from tests.faults.handlers import act
here = Path(__file__).parent
try:
    (here / "slow").mkdir()
    (here / "pipe").read_text()
except FileExistsError:
    pass
"""


async def test_an_import_that_takes_longer_than_the_hang_timeout_is_waited_for(short_path: Path) -> None:
    """The other worker, ready later than this one was born, is silent for that timeout and ended meanwhile."""
    (short_path / "slow_to_import.py").write_text(SLOW_ONCE)
    pipe = named_pipe(short_path)
    async with stage(short_path, workers=1) as scene:
        slow = {"handler": "slow_to_import:act", "app_dir": str(short_path), "preload": False}
        scene.restart(workers=2, hang_timeout=3.0, **slow)
        with pipe.open("w"):
            scene.pool.ready(1)
            await scene.submit("t", text="hang_once")
            hung = scene.pool.until("died")
            assert hung["cause"].startswith("hung: silent")
            assert (await scene.completed("t")).deliveries == 2
            assert len(scene.pool.lines("died")) == 1
        scene.pool.ready(3)
        assert len(scene.pool.lines("died")) == 1


async def test_a_silence_that_the_parent_could_not_hear_the_end_of_is_excused(short_path: Path) -> None:
    async with stage(short_path, workers=2, concurrency=1, hang_timeout=5.0) as scene:
        await scene.submit("clock", text="nap 7")
        await scene.submit("t", text="hold")  # its worker is silent
        scene.started("clock")
        scene.started("t")
        scene.pool.send(signal.SIGSTOP)
        scene.started("clock")
        os.kill(scene.pool.pid, signal.SIGCONT)
        scene.pool.until("the parent was delayed: this round of checks is skipped")
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert scene.pool.deaths() == []
