"""Processor time of a task while ten clients read the live events of its queue, and while none does.

`make bench-live`. One pool of two workers with its dashboard runs batches of small tasks at its full rate, in turns
with ten clients and without: each pair has one batch of both. The clients listen before their batch begins. The time is
that of all processes of the pool: parent, steward, workers, store and web process. The clients themselves run here, and
are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from statistics import median
from threading import Thread

import psutil

from bench import report
from bench.pool import ROOT, Pool, folder, pool
from bench.waiting import until
from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import State
from holdfast.sync import TaskManager
from holdfast_config import RedisSettings

PAIRS = 10
TASKS = 60_000  # of one batch
CLIENTS = 10
TOKEN = "a-token-for-the-benchmark"
HANDLER = "examples.wordcount:handle"
WITHIN = 300.0  # seconds for a batch
LIMIT = 3.0  # percent of a task's processor time
KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(slots=True)
class Clients:
    """Clients of the stream of events, in a thread of their own. `read`: bytes; `begun`: clients that have read any."""

    port: int
    read: int = 0
    begun: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    @contextmanager
    def listening(self) -> Generator[None]:
        thread = Thread(target=self._loop.run_until_complete, args=(self._listen(),))
        self.begun = 0
        thread.start()
        try:
            until(lambda: self.begun == CLIENTS, WITHIN, "all clients listen", every=0.01)
            yield
        finally:
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(self._loop)])
            thread.join()

    async def _listen(self) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*(self._follow() for _ in range(CLIENTS)))

    async def _follow(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"GET /events/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
        writer.write(head.encode())
        try:
            self.read += len(await reader.read(1 << 18))
            self.begun += 1
            while data := await reader.read(1 << 18):
                self.read += len(data)
        finally:
            writer.close()


def main() -> int:
    options = _options()
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    environ |= {"PYTHONPATH": str(ROOT), "HOLDFAST_WEB_TOKEN": TOKEN}
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with (
        folder() as place,
        pool(HANDLER, 2, place, environ, "--web", str(port)) as running,
        TaskManager(RedisSettings(url=running.url)) as manager,
    ):
        costs = _measured(running, manager, Clients(port), options.pairs, options.tasks)
    without, beside = ([pair[place] for pair in costs] for place in (0, 1))
    shares = [100 * (two / one - 1) for one, two in costs]
    rows = [("no client", median(without), min(without), max(without))]
    rows += [(f"{CLIENTS} clients", median(beside), min(beside), max(beside))]
    report.table(f"µs a task, {options.pairs} pairs of {options.tasks:,} tasks", ("", "median", "least", "most"), rows)
    target = report.Target(f"{CLIENTS} clients, % of a task in the median of the pairs", median(shares), LIMIT)
    return report.finish([target], {"without": without, "beside": beside, "shares": shares})


def _measured(
    running: Pool, manager: TaskManager, clients: Clients, pairs: int, tasks: int
) -> list[tuple[float, float]]:
    """For each pair the cost of a task in microseconds, without clients and beside them; the order takes turns."""
    _cost(running, manager, tasks)  # the first run of anything is no measure
    found = list[tuple[float, float]]()
    for number in range(pairs):
        costs = dict[bool, float]()
        for beside in (number % 2 == 0, number % 2 == 1):
            if beside:
                with clients.listening():
                    costs[True] = _cost(running, manager, tasks)
            else:
                costs[False] = _cost(running, manager, tasks)
        found.append((costs[False], costs[True]))
        print(f"pair {number + 1}: {costs[False]:.1f} µs, {costs[True]:.1f} µs", file=sys.stderr, flush=True)
    return found


def _cost(running: Pool, manager: TaskManager, tasks: int) -> float:
    before, ended = _used(running), manager.count_tasks(State.COMPLETED)
    manager.run_tasks([TaskSpec(text="one two") for _ in range(tasks)])
    until(lambda: manager.count_tasks(State.COMPLETED) == ended + tasks, WITHIN, "all tasks have completed", every=0.1)
    return (_used(running) - before) / tasks * 1e6


def _used(running: Pool) -> float:
    """Seconds of all processes of the pool, those that have ended included: the store has a child rewrite its log."""
    parent = psutil.Process(running.pid)
    times = [each.cpu_times() for each in (parent, *parent.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.live_clients", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--tasks", type=int, default=TASKS, help="of one batch")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
