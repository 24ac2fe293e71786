"""Stewards that race over the same fires, one of which dies: each fire is made once, none is missing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE
from typing import TYPE_CHECKING

import pytest

from holdfast import TaskManager, open_store
from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.task_states import State
from holdfast_config.kill_spec import VARIABLE, Point
from tests.forked import Program, popen

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio

STEWARDS = 4
FIRES = 300
PATIENCE = 60.0  # seconds; reached only by a test that fails


@contextmanager
def stewards(settings: RedisSettings, environ: dict[str, str]) -> Iterator[list[Program]]:
    """All of them connected, and waiting for a word."""
    words, given = [settings.url, settings.queue], {**os.environ, **environ}
    made = [popen("tests.schedules.racing", words, env=given, stdin=PIPE, stdout=PIPE) for _ in range(STEWARDS)]
    try:
        for process in made:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        yield made
    finally:
        for process in made:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                stream.close()


@pytest.mark.parametrize("point", [Point.BEFORE_FIRE, Point.FIRED])
async def test_each_fire_is_made_once_though_a_steward_dies(
    redis_settings: RedisSettings, short_path: Path, point: Point
) -> None:
    order = short_path / "order"
    order.touch()
    async with open_store(redis_settings) as store:
        manager = TaskManager(store, queue=redis_settings.queue)
        with stewards(redis_settings, {VARIABLE: f"{point}@{order}"}) as racing:
            now = await store.clock_ms() / 1000
            await manager.schedules.put_all({f"j{n}": ScheduleSpec(at=now, text="go") for n in range(FIRES)})
            for process in racing:
                assert process.stdin is not None
                process.stdin.write(b"go\n")
                process.stdin.flush()
            ended = sorted(process.wait(PATIENCE) for process in racing)
        assert ended == [-signal.SIGKILL, 0, 0, 0]
        histories = [await manager.schedules.history(f"j{number}") for number in range(FIRES)]
        assert [[line.what for line in lines] for lines in histories] == [["fired", "set"]] * FIRES
        tasks = {line.task for lines in histories for line in lines if line.what == "fired"}
        assert len(tasks) == FIRES
        assert await manager.count_tasks(State.SUBMITTED) == FIRES
