"""Tasks that wait for others, or expire, while workers and stewards die."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.acceptance import Accepted, SubmitOptions
from tests.faults.scene import Scene, stage
from tests.faults.work import submission

pytestmark = pytest.mark.anyio


async def submit(scene: Scene, task_id: str, submit_options: SubmitOptions, text: str = "echo", **options: Any) -> None:
    [receipt] = await scene.store.submit_with_options([submission(task_id, text, options=submit_options, **options)])
    assert receipt.accepted is Accepted.NEW


async def test_a_child_waits_for_its_parent_whatever_becomes_of_that_ones_worker(short_path: Path) -> None:
    async with stage(short_path, workers=2) as scene:
        await scene.submit("parent", text="wait")
        await submit(scene, "child", SubmitOptions(after=("parent",)))
        _, first = scene.started("parent")
        os.kill(first, signal.SIGKILL)
        scene.started("parent")
        assert (await scene.record("child")).state == "waiting"
        scene.go("parent")
        child = await scene.completed("child")
        assert (scene.runs("parent"), scene.runs("child"), child.deliveries) == (2, 1, 1)


async def test_children_of_a_task_that_ends_while_the_steward_is_dead_are_told(short_path: Path) -> None:
    """More of them than one pull tells in passing, and all workers are busy with the first ones."""
    children = [f"c{number}" for number in range(60)]
    async with stage(short_path, workers=1) as scene:
        await scene.submit("parent", text="wait")
        submit_options = SubmitOptions(after=("parent",))
        await scene.store.submit_with_options([submission(child, "echo", options=submit_options) for child in children])
        scene.started("parent")
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        scene.go("parent")
        await scene.ran_once(*children)


async def test_the_next_steward_ends_what_expired_while_there_was_none(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        await submit(scene, "waits", SubmitOptions(expires_in_ms=100))
        await submit(scene, "child", SubmitOptions(after=("waits",)))
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        scene.happened("expired", "waits")
        scene.happened("parent-failed", "child")
        scene.go("busy")
        await scene.completed("busy")
        assert (scene.runs("waits"), scene.runs("child")) == (0, 0)
