"""A reader of a task's parts, while workers and stores die: each part once, in order, a rerun named."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.delivery import EmittedPart
from tests.faults.process import PATIENCE
from tests.faults.scene import Scene, stage
from tests.faults.test_store_away import DURABLE
from tests.faults.work import QUEUE

pytestmark = pytest.mark.anyio

Told = tuple[int, int, object]


def stream(scene: Scene, task_id: str, after: int = 0) -> AsyncGenerator[EmittedPart]:
    return TaskManager(scene.store, queue=QUEUE, retries=SubmitRetries(seconds=PATIENCE)).stream(task_id, after=after)


async def next_of(parts: AsyncGenerator[EmittedPart], count: int) -> list[Told]:
    """The next parts: position, run, value."""
    with anyio.fail_after(PATIENCE):
        return [(each.position, each.run, each.value) for each in [await anext(parts) for _ in range(count)]]


async def rest_of(parts: AsyncGenerator[EmittedPart]) -> list[Told]:
    with anyio.fail_after(PATIENCE):
        return [(each.position, each.run, each.value) async for each in parts]


async def test_the_parts_of_a_run_after_a_killed_worker_name_it(short_path: Path) -> None:
    async with stage(short_path) as scene, aclosing(stream(scene, "t")) as parts:
        await scene.submit("t", text="emits 3")
        _, pid = scene.started("t")
        assert await next_of(parts, 3) == [(1, 1, "part 0"), (2, 1, "part 1"), (3, 1, "part 2")]
        os.kill(pid, signal.SIGKILL)
        assert await next_of(parts, 3) == [(4, 2, "part 0"), (5, 2, "part 1"), (6, 2, "part 2")]
        scene.go("t")
        assert await rest_of(parts) == [(7, 2, "the last one")]
        assert (await scene.completed("t")).crashes == 1
        assert await rest_of(stream(scene, "t", after=5)) == [(6, 2, "part 2"), (7, 2, "the last one")]


async def test_a_reader_and_a_handler_go_on_when_the_store_was_killed(short_path: Path) -> None:
    """The server writes each command to its disk before it answers, so what a reader has had is never taken back."""
    after, last = short_path / "after", short_path / "last"
    for path in (after, last):
        os.mkfifo(path)
    async with stage(short_path, server=DURABLE) as scene, aclosing(stream(scene, "t")) as parts:
        await scene.submit("t", text=f"emits_after {after} {last}")
        scene.started("t")
        assert await next_of(parts, 1) == [(1, 1, "before")]
        scene.signal_server(signal.SIGKILL)
        scene.pool.until("the store does not answer; waiting")
        after.write_text("")
        scene.serve_again(*DURABLE)
        assert await next_of(parts, 1) == [(2, 1, "after")]
        last.write_text("")
        assert await rest_of(parts) == [(3, 1, "last")]
        await scene.ran_once("t")
