"""Producers that LPUSH to a lane that is served from its head: stewards notice, count, and say what mends it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from holdfast.core.lanes import LaneBound, LaneLimit
from tests.cli.commands import Cli
from tests.faults.scene import PATIENT, Scene, stage
from tests.faults.work import QUEUE, entry

pytestmark = pytest.mark.anyio
TOLD = "a producer pushes at the end from which the lane is served"
MEND = f"have that producer RPUSH, or serve the lane from its tail: -Q '{QUEUE};end=tail'"


@contextmanager
def producing(scene: Scene, command: str, most: int) -> Iterator[None]:
    """Somebody who pushes while fewer than `most` entries wait."""
    stop = Event()

    def push() -> None:
        for number in count():
            if stop.wait(0.02):
                return
            if scene.client.llen(QUEUE) < most:
                scene.client.execute_command(command, QUEUE, entry(f"{command}{number}", "sleep 0.05"))

    thread = Thread(target=push)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


async def lane_of(scene: Scene) -> Any:
    lanes = await PATIENT.call(scene.store.lanes, [QUEUE])
    return next(lane for lane in lanes.lanes if lane.name == QUEUE)


@pytest.mark.parametrize(
    ("most", "is_served"),
    [(5, True), (100_000, True), (100, False)],
    ids=["one that stands", "one that grows", "one that nobody takes from"],
)
async def test_a_backlog_that_is_filled_at_its_head_is_noticed(short_path: Path, most: int, is_served: bool) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        if not is_served:
            await scene.store.pause_lane(QUEUE, "to see it fill")
        with producing(scene, "LPUSH", most):
            told = scene.pool.until(TOLD, lane=QUEUE)
        assert (told["level"], told["remedy"]) == ("warning", MEND)
        lane = await lane_of(scene)
        assert lane.wrong_end >= told["seen"] > 0


async def test_status_and_doctor_tell_it_until_the_end_is_set(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        with producing(scene, "LPUSH", 5):
            scene.pool.until(TOLD)
        where = (
            "--redis-url",
            scene.url,
            "--queue-name",
            QUEUE,
            "--runtime-dir",
            str(scene.pool.runtime_dir),
            "--json",
        )
        cli = Cli(short_path, where)
        status = cli("status").document["wrong_end"][QUEUE]
        assert "seen, the last" in status
        assert status.endswith(MEND)
        [finding] = [row for row in cli("doctor").document if row["look"] == f"lane {QUEUE}"]
        assert (finding["level"], finding["fix"]) == ("warning", MEND)
        assert "a producer pushes at its head (LPUSH)" in finding["found"]
        assert len([line for line in scene.pool.log if line.get("event") == TOLD]) == 1
        await scene.store.bound([LaneLimit(LaneBound.END, QUEUE, "tail")])
        assert (await lane_of(scene)).wrong_end == 0
        assert cli("status").document["wrong_end"] == {}


async def test_one_that_is_filled_at_its_tail_is_not(short_path: Path) -> None:
    """The right way for both, with a worker that dies meanwhile and gives back what it held."""
    async with stage(short_path, workers=1, concurrency=1) as scene:
        with producing(scene, "RPUSH", 100_000):
            await scene.submit("held", text="wait")
            pid = scene.started("held")[1]
            os.kill(pid, signal.SIGKILL)
            assert scene.started("held")[1] != pid
            scene.go("held")
            await scene.completed("held")
        assert (await lane_of(scene)).wrong_end == 0
        assert json.dumps(TOLD) not in json.dumps(scene.pool.log)
