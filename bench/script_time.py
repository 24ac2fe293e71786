"""Processor time of the server for each step of a task's usual life, and for renewals and idle pulls.

`make bench-scripts` measures this tree; `make bench-scripts AGAINST=<folder of another tree>` both in turns, each with
its own Python and scripts. `SERVER=redis-server` names another server than the bundled one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha1
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import anyio

from bench import report
from bench.server import server
from holdfast import open_store
from holdfast.core.acceptance import Submission
from holdfast.core.delivery import Delivery, Holding, Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings

ROOT = Path(__file__).parents[1]
SOURCES = ("config", "workers", "supervisor")
QUEUE = "bindu:tasks"
TASKS = 500  # of one step in one round
ROUNDS = 9
SMALL, LARGE = b'{"words": 3}', b'"%s"' % (b"x" * 200)

Step = Callable[[], Awaitable[object]]
Costs = dict[str, tuple[float, float]]  # by step: microseconds of the server, and commands


class Life:
    """Plays the steps of tasks by hand, as a producer and a worker send them, and measures the server meanwhile."""

    def __init__(self, store: Any, plain: Any) -> None:
        self._store, self._plain = store, plain
        self._worker, self._request = uuid4().hex, 0
        self._held: list[Delivery] = []
        self.costs: Costs = {}

    async def measure(self) -> Costs:
        await self._store.register(Introduction(self._worker, "bench", "boot", 1, 0))
        for slots in (1, 10, 50):
            await self._tasks(slots, SMALL)
        await self._tasks(10, LARGE)
        await self._rest()
        return self.costs

    async def _tasks(self, slots: int, result: bytes) -> None:
        size = "small" if result is SMALL else "large"
        if slots == 1:
            await self._cost("submit, one a call", TASKS, lambda: self._submit(1))
        else:
            await self._cost(f"submit, {slots} a call", TASKS, lambda: self._submit(slots))
        await self._cost(f"claim and settle, {slots} a call, {size} results", TASKS, lambda: self._work(slots, result))

    async def _rest(self) -> None:
        await self._cost("pull, idle", TASKS, self._idle)
        await self._submit(10, 10)
        await self._pull(10)
        await self._cost("renew, of 10 tasks", TASKS, self._renew)
        await self._pull(0, [Settlement(one.task_id, one.claim, Settle.COMPLETED, SMALL) for one in self._held])

    async def _cost(self, name: str, times: int, step: Step) -> None:
        before = await self._spent()
        await step()
        spent = await self._spent()
        self.costs[name] = ((spent[0] - before[0]) / times, (spent[1] - before[1]) / times)

    async def _spent(self) -> tuple[float, float]:
        """Microseconds of the server's main thread, and commands of scripts and clients, since it started."""
        cpu, stats = await self._plain.info("cpu"), await self._plain.info("commandstats")
        seconds = float(cpu["used_cpu_user_main_thread"]) + float(cpu["used_cpu_sys_main_thread"])
        return seconds * 1e6, sum(one["calls"] for one in stats.values())

    async def _submit(self, together: int, tasks: int = TASKS) -> None:
        for _ in range(0, tasks, together):
            await self._store.submit([submission() for _ in range(together)])

    async def _pull(self, slots: int, settlements: Sequence[Settlement] = ()) -> None:
        self._request += 1
        pulled = await self._store.pull(self._worker, self._request, slots, [QUEUE], settlements)
        self._held = list(pulled.deliveries)

    async def _work(self, slots: int, result: bytes) -> None:
        await self._pull(slots)
        while self._held:
            await self._pull(
                slots, [Settlement(one.task_id, one.claim, Settle.COMPLETED, result) for one in self._held]
            )

    async def _idle(self) -> None:
        for _ in range(TASKS):
            await self._pull(10)

    async def _renew(self) -> None:
        held = [Holding(one.task_id, one.claim) for one in self._held]
        for _ in range(TASKS):
            await self._store.renew(self._worker, "live", self._request, held, [QUEUE])


def submission() -> Submission:
    """A task of 100 bytes of text."""
    task_id, message_id = uuid4().hex, uuid4().hex
    message = {
        "message_id": message_id,
        "kind": "message",
        "role": "user",
        "parts": [{"kind": "text", "text": "x" * 100}],
        "metadata": {},
    }
    operation = json.dumps(
        {
            "operation": "run",
            "params": {"task_id": task_id, "context_id": task_id, "message": message},
            "trace_id": None,
            "span_id": None,
        },
        separators=(",", ":"),
    ).encode()
    return Submission(task_id, message_id, sha1(operation, usedforsecurity=False).hexdigest(), operation, lane=QUEUE)


async def play(url: str) -> None:
    import redis.asyncio  # the client of the tree that is measured

    plain: Any = redis.asyncio.from_url(url)
    async with plain, open_store(RedisSettings(url, 2, QUEUE)) as store:
        await plain.flushall()
        life = Life(store, plain)
        await life.measure()  # warm
        print(json.dumps(await life.measure()))


def round_of(tree: Path, url: str) -> Costs:
    paths = [str(tree / source) for source in SOURCES]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)])}
    command = [sys.executable, "-m", "bench.script_time", "--play", url]
    return json.loads(subprocess.run(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--play", metavar="URL")
    asked.add_argument("--against", type=Path)
    asked.add_argument("--server")
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    options = asked.parse_args()
    if options.play:
        anyio.run(play, options.play)
        return 0
    trees = {"this tree": ROOT, **({"other tree": options.against} if options.against else {})}
    rounds: dict[str, list[Costs]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as place, server(Path(place), options.server) as url:
        for _ in range(options.rounds):
            for name, tree in trees.items():
                rounds[name].append(round_of(tree, url))
    steps = list(rounds["this tree"][0])
    figures = {
        name: {step: [median(one[step][i] for one in costs) for i in (0, 1)] for step in steps}
        for name, costs in rounds.items()
    }
    rows = [(step, *(figure for name in trees for figure in figures[name][step])) for step in steps]
    report.table(
        "server, a task or call", ["step", *(f"{what}, {name}" for name in trees for what in ("µs", "commands"))], rows
    )
    return report.finish([], {"server_us": figures})


if __name__ == "__main__":
    sys.exit(main())
