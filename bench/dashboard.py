"""The dashboard on a queue of 1,000,000 tasks and 100 handlers: `python -m bench.dashboard [TASKS]`.

A process of its own serves it, `supervisor web`, as users start it. Each page is asked for many times, by one client,
over one connection. Two figures are told: the time until the whole answer was there, and the processor time that the
web process and the store have spent for it. The second one counts, because it does not depend on what else the machine
does. Of each script of the store, a step of a search among them, the time is that of its SLOWLOG.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote, urlsplit

import psutil
import redis
import uvloop

from bench import full_queue
from bench.ending import run
from bench.pool import SUPERVISOR, folder
from bench.producing import QUEUE
from bench.report import Target, finish, percentile, table
from bench.server import server
from holdfast.store.redis import RedisStore
from holdfast.store.redis.scripts import product
from holdfast_config import RedisSettings
from holdfastd.web.api.operations import OPERATIONS

TASKS = 1_000_000
TIMES = 40  # requests of each page
LONGEST = 5.0  # seconds for the requests of one page
SEARCHES = 60  # pages of one search
PAGE_MS = 50.0
STEP_MS = 10.0
CHILD_MB = 60.0
MB = 1 << 20
TOKEN = "a-token-of-sixteen-or-more"
SLOTH = 100_000  # entries of the server's SLOWLOG

Spent = tuple[float, float]  # milliseconds of one request: by the clock, and of processors


class Visitor:
    """One client of the dashboard with one connection."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)

    def get(self, path: str) -> tuple[float, int, str]:
        """Milliseconds, status and text of an answer."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"authorization": f"Bearer {TOKEN}", "accept": "text/html"})
        answer = self._connection.getresponse()
        text = answer.read()
        return (time.perf_counter() - began) * 1000, answer.status, text.decode()


def processor_ms(*pids: int) -> float:
    """The processor time that these processes have spent until now, in all their threads."""
    threads = (path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e6


@contextmanager
def dashboard(url: str, place: Path, *flags: str) -> Generator[tuple[str, int]]:
    """Its address and its process id."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(place), "HOLDFAST_WEB_TOKEN": TOKEN}
    command = [str(SUPERVISOR), "web", "127.0.0.1:0", "--redis-url", url, *flags]
    process = subprocess.Popen(command, cwd=place, env=environ, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        line = next(line for line in process.stderr if "dashboard at" in line)
        yield line.split()[-1], process.pid
    finally:
        process.terminate()
        process.wait()


def pages(visitor: Visitor) -> Iterator[tuple[str, str]]:
    """Each page's name and address."""
    found = re.search(r'href="/task\?id=([^"]+)"', visitor.get("/tasks?state=failed")[2])
    task = unescape(found[1]) if found else "none"
    kind = json.loads(visitor.get("/api/v1/errors")[2])["errors"][0]["kind"]
    yield from (
        ("Overview", "/"),
        ("Overview, a day", "/?since=24h"),
        ("Overview, 30 days", "/?since=30d"),
        ("Lanes", "/lanes"),
        ("a lane", "/lane?name=lane-3"),
        ("Tasks", "/tasks"),
        ("Tasks, submitted", "/tasks?state=submitted"),
        ("Tasks, failed", "/tasks?state=failed"),
        ("Tasks, completed of a lane", "/tasks?state=completed&lane=lane-3"),
        ("Tasks, of a handler", f"/tasks?name={full_queue.handler(7)}"),
        ("Tasks, of a batch", "/tasks?batch=batch-1"),
        ("Tasks, of a worker", f"/tasks?owner={3:032x}"),
        ("Tasks, a search", "/tasks?text=customer"),
        ("Tasks, a search that finds nothing", f"/tasks?text={full_queue.RARE}"),
        ("retry of all failed ones, before it is confirmed", "/tasks/bulk?verb=retry&state=failed"),
        ("cancel of what a text finds, before it is confirmed", "/tasks/bulk?verb=cancel&text=asia"),
        ("Bulk changes", "/bulk"),
        ("a task", f"/task?id={task}"),
        ("Handlers", "/handlers"),
        ("Handlers, a day", "/handlers?since=24h"),
        ("Handlers, 30 days", "/handlers?since=30d"),
        ("a handler", f"/handler?name={full_queue.handler(7)}"),
        ("a handler, 30 days", f"/handler?name={full_queue.handler(7)}&since=30d"),
        ("the form of a handler", f"/submit?name={full_queue.handler(7)}"),
        ("the form that edits a task", f"/submit?task={task}"),
        ("Workers", "/workers"),
        ("Schedules", "/schedules"),
        ("a schedule", "/schedule?id=schedule-7"),
        ("the form of a new schedule", "/schedules/new"),
        ("the form that edits a schedule", "/schedules/edit?id=schedule-7"),
        ("Batches", "/batches"),
        ("a batch", "/batch?id=batch-1"),
        ("Dead letters", "/dead"),
        ("Unreadable", "/unreadable"),
        ("Webhooks", "/webhooks"),
        ("Events", "/events"),
        ("Activity", "/activity"),
        ("Tasks, of a kind of error", f"/tasks?state=failed&error={kind}"),
        ("Questions", "/tasks?state=input-required"),
        ("all checks", "/checks"),
        ("the box, an id", f"/find?text={task}"),
        ("the box, the beginning of an id", f"/find?text={task[:8]}"),
        ("the box, a text", f"/find?text={full_queue.RARE}"),
    )


def calls(visitor: Visitor) -> Iterator[tuple[str, str]]:
    """Each operation of the API that reads, and its longest lists."""
    tasks = json.loads(visitor.get("/api/v1/tasks?state=failed")[2])["tasks"]
    values = {
        "task_id": tasks[0]["task_id"] if tasks else "none",
        "lane": "lane-3",
        "schedule_id": "schedule-7",
        "batch": "batch-1",
        "address": "none",
        "verb": "retry",
        "change_id": "none",
    }
    for operation in OPERATIONS:
        if operation.method == "GET":
            yield f"API {operation.path}", "/api/v1" + operation.path.format(**values)
    for query in (
        "tasks?limit=500",
        "tasks?limit=500&state=completed&newest_first=true",
        f"tasks?name={full_queue.handler(7)}",
        f"tasks?text={full_queue.RARE}",
        "events?limit=500",
        "events?kind=crashed",
        "stats?since=15d",
    ):
        yield f"API /{query}", f"/api/v1/{query}"


def search(visitor: Visitor, query: str, *pids: int) -> Iterator[Spent]:
    """The times of the pages of a search, from the first to the last, but of at most SEARCHES pages."""
    path = f"/tasks?{query}"
    for _ in range(SEARCHES):
        before = processor_ms(*pids)
        ms, status, text = visitor.get(path)
        assert status == 200, text
        yield ms, processor_ms(*pids) - before
        found = re.search(r'class="more" href="([^"]+)"', text)
        if not found:
            return
        path = unescape(found[1])


def commands(client: Any) -> list[tuple[str, float]]:
    """Name and milliseconds of each script that the server has run since its SLOWLOG was emptied."""
    names = {script.sha.encode(): name for name, script in product().items()}
    found = list[tuple[str, float]]()
    for entry in client.slowlog_get(SLOTH):
        words = entry["command"].split()
        if len(words) > 1 and words[1] in names:
            found.append((names[words[1]], entry["duration"] / 1000))
    return found


def measured(visitor: Visitor, client: Any, web: int) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """The rows of the pages, and those of the store's commands. `web`: the id of the web process."""
    rows, pids = list[tuple[object, ...]](), (web, int(client.info("server")["process_id"]))
    client.config_set("slowlog-log-slower-than", 0)
    client.config_set("slowlog-max-len", SLOTH)
    client.slowlog_reset()
    for name, path in (*pages(visitor), *calls(visitor)):
        status = visitor.get(path)[1]
        rows.append(_row(name, list(_times(visitor, path, *pids)), status))
        print(*rows[-1], flush=True)
    for text in ("customer", full_queue.RARE, "asia"):
        rows.append(_row(f"each page of a search for {text}", list(search(visitor, f"text={quote(text)}", *pids)), 200))
        print(*rows[-1], flush=True)
    by_name = dict[str, list[float]]()
    for name, ms in commands(client):
        by_name.setdefault(name, []).append(ms)
    of_scripts = [
        (name, len(spent), median(spent), percentile(spent, 0.95), max(spent)) for name, spent in by_name.items()
    ]
    return rows, sorted(of_scripts, key=lambda row: -row[4])


def _times(visitor: Visitor, path: str, *pids: int) -> Iterator[Spent]:
    """The time of each request. A page that takes very long is requested less often."""
    until = time.monotonic() + LONGEST
    for number in range(TIMES):
        if number and time.monotonic() > until:
            return
        before = processor_ms(*pids)
        ms = visitor.get(path)[0]
        yield ms, processor_ms(*pids) - before


def _row(name: str, spent: Sequence[Spent], *more: object) -> tuple[object, ...]:
    walls, busy = zip(*spent, strict=True)
    return (name, len(spent), median(walls), percentile(walls, 0.95), median(busy), percentile(busy, 0.95), *more)


async def _fill(url: str, tasks: int) -> None:
    store = RedisStore(RedisSettings(url, 60, QUEUE))
    try:
        await full_queue.fill(store, tasks)
    finally:
        await store.aclose()


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("tasks", nargs="?", type=int, default=TASKS)
    asked.add_argument("--at", metavar="URL", help="a server that was filled before")
    options = asked.parse_args()
    with folder() as place, server(place) as started:
        url = options.at or started
        if not options.at:
            began = time.monotonic()
            uvloop.run(_fill(url, options.tasks))
            print(f"filled within {time.monotonic() - began:.0f} s", flush=True)
        with dashboard(url, place) as (address, pid), redis.Redis.from_url(url) as client:
            rows, steps = measured(Visitor(address), client, pid)
            memory = psutil.Process(pid).memory_full_info()
    columns = ("", "requests", "p50 ms", "p95 ms", "processor p50 ms", "processor p95 ms", "status")
    table(f"\npages with {options.tasks:,} tasks", columns, rows)
    table("\nscripts of the store", ("", "calls", "p50 ms", "p95 ms", "most ms"), steps)
    figures = [float(str(row[5])) for row in rows]
    slowest = max(rows, key=lambda row: float(str(row[5])))
    held = max(steps, key=lambda row: float(str(row[4])))
    targets = [
        Target(f"ms of processors at p95 of the slowest page ({slowest[0]})", max(figures), PAGE_MS),
        Target(f"ms of the store of the longest script ({held[0]})", float(str(held[4])), STEP_MS),
        Target("MB resident, of the web process", memory.rss / MB, CHILD_MB),
        Target("MB of its own and its share, of the web process", memory.pss / MB, CHILD_MB),
    ]
    return finish(targets, {"pages": rows, "scripts": steps})


if __name__ == "__main__":
    run(main)
