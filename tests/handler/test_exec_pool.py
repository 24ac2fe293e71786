"""Commands under a whole supervisor: their families end with their runs, whoever is killed meanwhile."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from tests.faults.kin import wait_dead
from tests.faults.process import Pool
from tests.faults.scene import LONG_DRAIN, Scene, stage
from tests.handler.programs import Ear

pytestmark = pytest.mark.anyio

FAMILY = Path(__file__).with_name("family.py")


@pytest.fixture
def ear(short_path: Path) -> Iterator[Ear]:
    opened = Ear(short_path)
    yield opened
    opened.close()


def pool(folder: Path, *words: object, **flags: object) -> AbstractAsyncContextManager[Scene]:
    line = shlex.join(map(str, words))
    return stage(folder, handler=None, exec=line, **{"workers": 1, **flags})


def family(folder: Path, **flags: object) -> AbstractAsyncContextManager[Scene]:
    return pool(folder, sys.executable, "-S", FAMILY, folder, **flags)


def result(record: TaskRecord) -> Any:
    assert record.result
    part = json.loads(record.result)["parts"][0]
    return part.get("text", part.get("data"))


async def test_the_family_of_a_command_is_dead_before_its_task_is_run_again(ear: Ear, short_path: Path) -> None:
    async with family(short_path, workers=2) as scene:
        await scene.submit("t", text="wait")
        pids = await ear.pids()
        os.kill(psutil.Process(pids[0]).ppid(), signal.SIGKILL)
        record = await scene.completed("t")
        assert (record.deliveries, result(record)) == (2, [])


async def test_it_is_dead_too_where_the_whole_supervisor_was_killed(ear: Ear, short_path: Path) -> None:
    async with family(short_path) as scene:
        await scene.submit("t", text="wait")
        pids = await ear.pids()
        supervisor = psutil.Process(scene.pool.pid)
        workers = [each for each in supervisor.children() if each.pid != pids[0]]
        supervisor.suspend()  # it must not see them die
        for each in (*workers, supervisor):
            each.kill()
        wait_dead(scene.pool.pid, *(each.pid for each in workers))
        assert psutil.Process(pids[0]).is_running()
        killed, scene.pool = scene.pool, Pool(scene.folder, scene.url, **scene.flags)
        record = await scene.completed("t")
        assert (record.deliveries, result(record)) == (2, [])
        killed.close()


# A process without the session, the environment and a living ancestor of a command is found by nobody: `lost`.


async def test_cancelled_its_family_ends_with_it(ear: Ear, short_path: Path) -> None:
    async with family(short_path) as scene:
        await scene.submit("t", text="wait")
        *found, lost = await ear.pids()
        assert await scene.store.cancel("t", "test") == "canceled"
        wait_dead(*found)
        os.kill(lost, signal.SIGKILL)


async def test_whom_it_leaves_behind_ends_with_it(ear: Ear, short_path: Path) -> None:
    async with family(short_path) as scene:
        await scene.submit("t", text="leave")
        *found, lost = await ear.pids()
        await scene.completed("t")
        wait_dead(*found)
        os.kill(lost, signal.SIGKILL)


async def test_paused_it_saves_a_checkpoint_and_resumed_it_goes_on(ear: Ear, short_path: Path) -> None:
    script = (
        """given=$(grep -o '"checkpoint":[0-9]*' | cut -d: -f2); test -n "$given" && exec echo "on from $given";"""
        f"trap 'echo 3; exit 75' TERM; echo started >{ear.path}; while :; do sleep 0.01; done"
    )
    async with pool(short_path, "sh", "-c", script) as scene:
        await scene.submit("t")
        await ear.line()
        assert await scene.store.pause("t", "test") == "working"
        scene.happened("suspended", "t")
        record = await scene.record("t")
        assert (record.state, record.checkpoint) == (State.SUSPENDED, b"3")
        await scene.store.resume("t", "test")
        assert result(await scene.completed("t")) == "on from 3"


async def test_drained_it_is_killed_in_time_and_given_back(ear: Ear, short_path: Path) -> None:
    script = f"trap '' TERM; echo $$ >{ear.path}; while :; do sleep 1000; done"
    async with pool(short_path, "sh", "-c", script, drain_timeout=LONG_DRAIN) as scene:
        await scene.submit("t")
        pids = await ear.pids()
        assert scene.cut_short() == 75
        wait_dead(*pids)
        record = await scene.record("t")
        assert (record.state, record.releases, record.crashes) == (State.SUBMITTED, 1, 0)


async def test_a_status_of_a_command_settles_its_task(short_path: Path) -> None:
    script = """case "$(cat)" in *done*) echo 42;; *never*) echo because >&2; exit 65;; *) exit 3;; esac"""
    async with pool(short_path, "sh", "-c", script, max_attempts=2, retry_base=0.01) as scene:
        for text in ("done", "never", "broken"):
            await scene.submit(text, text=text)
        done, never, broken = await scene.settled("done", "never", "broken")
        assert (done.state, result(done)) == (State.COMPLETED, 42)
        assert (never.state, never.reason, never.deliveries) == (State.REJECTED, "because", 1)
        assert (broken.state, broken.dead, broken.deliveries) == (State.FAILED, True, 2)
        assert scene.pool.lines("the command said", task="never", line="because")


async def test_as_many_run_at_once_as_the_concurrency_allows(ear: Ear, short_path: Path) -> None:
    script = f"echo $HOLDFAST_TASK_ID >{ear.path}; read line <{short_path}/go-$HOLDFAST_TASK_ID"
    for name in "abc":
        os.mkfifo(short_path / f"go-{name}")
    async with pool(short_path, "sh", "-c", script, concurrency=2) as scene:
        await scene.submit("a", "b", "c")
        assert {await ear.line(), await ear.line()} == {"a", "b"}
        record = await scene.record("c")
        assert record.state is State.SUBMITTED
        for name in ("a", "c", "b"):
            await anyio.to_thread.run_sync((short_path / f"go-{name}").write_text, "go\n")
        assert await ear.line() == "c"
        await scene.settled("a", "b", "c")
