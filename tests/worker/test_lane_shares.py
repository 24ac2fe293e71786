"""Lanes served by a real pool: shares, counted from the order in which Redis gave the tasks out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

import anyio
import pytest

from holdfast import TaskManager, open_store
from holdfast.client.task_spec import TaskSpec
from holdfast.core.activity import Happening
from holdfast.core.task_states import State
from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio

EACH = 240
HIGH, LOW = "high", "low"
HANDLER = "async def handle(messages):\n    return 'done'\n"
PATIENCE = 60.0  # seconds
SUPERVISOR = Path(sys.executable).with_name("supervisor")


async def test_weights_hold_in_a_real_pool(redis_settings: RedisSettings, short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    async with open_store(redis_settings) as store:
        manager = TaskManager(store, queue=redis_settings.queue)
        await manager.run_tasks([_spec(lane, number) for lane in (LOW, HIGH) for number in range(EACH)])
        served_by = _start(redis_settings, short_path)
        try:
            with anyio.fail_after(PATIENCE):
                while await manager.count_tasks(State.COMPLETED) < 2 * EACH:  # noqa: ASYNC110  # of other processes
                    await anyio.sleep(0.05)
        finally:
            served_by.terminate()
            served_by.wait(PATIENCE)
        claimed = [event for event in (await store.events("", 10_000)).events if event.event == "claimed"]
    while_both = _in_whole_pulls(claimed, EACH)
    assert abs(while_both[HIGH] / while_both.total() - 6 / 9) < 0.05


def _in_whole_pulls(claimed: list[Happening], most: int) -> Counter[str]:
    """The claims of each lane in the first pulls, at most `most`. A pull claims lane by lane: it counts as a whole."""
    lanes: Counter[str] = Counter()
    for _, pull in groupby(claimed, key=lambda event: event.detail):
        of_pull = Counter(event.subject.partition("-")[0] for event in pull)
        if lanes.total() + of_pull.total() > most:
            break
        lanes += of_pull
    assert lanes.total() > most / 4
    return lanes


def _spec(lane: str, number: int) -> TaskSpec:
    return TaskSpec(text="x", task_id=f"{lane}-{number}", lane=lane)


def _start(redis: RedisSettings, folder: Path) -> subprocess.Popen[bytes]:
    where = {"HOLDFAST_RUNTIME_DIR": str(folder / "run"), "HOLDFAST_STATE_DIR": str(folder / "state")}
    options = ["--redis-url", redis.url, "--queue-name", redis.queue, "-Q", f"{HIGH}=6,{LOW}=3", "--workers", "3"]
    return subprocess.Popen(
        [SUPERVISOR, "start", "agent:handle", *options],
        cwd=folder,
        env={**os.environ, **where},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
