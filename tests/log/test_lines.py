"""Each line that a pool logs is as docs/logs.md and config/log.schema.json say, whatever happens to the pool."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from holdfast import TaskManager
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskScale
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, entry
from tests.log.line_check import faults

pytestmark = pytest.mark.anyio

HANDLERS = "tests.log.handlers:handlers"
HOSTILE = 'x\n{"event": "fake"}\x1b[2J\x9b\u202e\x7f'


def manager(scene: Scene) -> TaskManager:
    return TaskManager(scene.store, queue=QUEUE)


async def speak(scene: Scene, task_id: str, text: str = "hello", name: str = "speak") -> None:
    await manager(scene).run_task(name=name, kwargs={"text": text}, task_id=task_id)


def foreign(task_id: str, **fields: str) -> bytes:
    """An entry of a foreign producer, who has other values in it."""
    pushed = json.loads(entry(task_id, "text"))
    return json.dumps(pushed | fields).encode()


def output(scene: Scene, task_id: str) -> list[str]:
    return [line["line"] for line in scene.pool.lines("output", task=task_id)]


async def test_each_line_is_as_documented_over_kills_reloads_failures_and_drains(short_path: Path) -> None:
    flags = {"handler": HANDLERS, "log_level": "debug", "retry_base": 0.0}
    async with stage(short_path, workers=2, **flags) as scene:
        await speak(scene, "spoken")
        await scene.completed("spoken")
        scene.client.rpush(QUEUE, b"\xff nobody can read this", foreign(HOSTILE), foreign("traced", trace_id=HOSTILE))
        await speak(scene, "hostile", HOSTILE)
        await speak(scene, "failing", f"no {HOSTILE}", "fail")
        await scene.settled("hostile", "failing", "traced")
        await manager(scene).run_task(name="hold", task_id="held")
        _, pid = scene.started("held")
        os.kill(pid, signal.SIGKILL)
        scene.pool.until("worker recovered", tasks=1)  # its parent may say later that it died
        scene.started("held")
        scene.go("held")
        await scene.completed("held")
        steward = scene.pool.pid_of("steward")
        os.kill(steward, signal.SIGKILL)
        scene.pool.until("died", pid=steward)
        scene.pool.until("ready", slot="steward")
        scene.pool.send(signal.SIGHUP)
        scene.pool.until("reloaded")
        ask(short_path / "run", AskScale(3))
        scene.pool.until("ready")
        scene.client.client_kill_filter(_type="normal", skipme=True)
        await speak(scene, "after")
        await scene.completed("after")
        assert scene.pool.stop() == 0
        lines = [line for line in scene.pool.log if "logger" in line]
        assert {tuple(faults(line)) for line in lines} == {()}
        events = {line["event"] for line in lines}
        assert {
            "task claimed",
            "task started",
            "task settled",
            "task failed",
            "output",
            "said",
            "died",
            "recovered",
            "ended as ordered",
            "draining",
            "reloaded",
            "scaling",
            "ended",
        } <= events
        assert "fake" not in events


async def test_the_state_is_as_documented(short_path: Path) -> None:
    """By itself: the stacks that follow are no records, and are written in pieces between those of others."""
    async with stage(short_path, workers=1, handler=HANDLERS) as scene:
        scene.pool.send(signal.SIGUSR1)
        assert faults(scene.pool.until("state")) == []


async def test_what_a_handler_says_carries_its_task_in_every_way(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=HANDLERS, log_level="info") as scene:
        for number in range(5):
            await speak(scene, f"t{number}", str(number))
        await speak(scene, "sync", name="speak_sync")
        await scene.settled("sync", *(f"t{number}" for number in range(5)))
        scene.pool.stop()
        assert output(scene, "sync") == ["sync hello"]
        for number in range(5):
            said = output(scene, f"t{number}")
            assert sorted(said) == sorted(
                [
                    f"print {number}",
                    "two",
                    "lines",
                    "to standard error",
                    "bytes \\xff",
                    "from a thread",
                    "from a thread of its own",
                    "from a child task",
                    "no end",
                ]
            )
            assert scene.pool.lines(f"logged {number}", task=f"t{number}", handler="speak", logger="billing")
            assert scene.pool.lines("said", task=f"t{number}", invoice=17)
        warned = [line for line in scene.pool.log if line.get("logger") == "py.warnings"]
        assert warned
        assert all("UserWarning: warned" in line["event"] and line["task"] for line in warned)
        raw = [line["text"] for line in scene.pool.lines("raw")]
        assert (raw.count("RAW write"), raw.count("RAW child")) == (5, 5)


async def test_what_was_flushed_is_logged_though_the_worker_is_killed(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=HANDLERS) as scene:
        await manager(scene).run_task(name="hold", task_id="held")
        _, pid = scene.started("held")
        os.kill(pid, signal.SIGKILL)
        first = scene.pool.until("output", task="held", pid=pid)
        assert (first["line"], first["partial"], first["delivery"]) == ("flushed before the kill", True, 1)
        scene.started("held")
        scene.go("held")
        await scene.completed("held")


async def test_without_capture_all_passes_as_it_is(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=HANDLERS, capture_output=False) as scene:
        await speak(scene, "t", "free")
        await scene.completed("t")
        scene.pool.stop()
        assert scene.pool.lines("output") == []
        assert "to standard error" in [line["text"] for line in scene.pool.lines("raw")]
