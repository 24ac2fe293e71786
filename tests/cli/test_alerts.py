"""Real faults of a real supervisor fire the alerts of config/alerts.yml that are meant for them, and no others."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import psutil
import pytest
from redis import Redis

from tests.cli.alerting import Timeline, assert_fired, assert_shown
from tests.cli.commands import ROOT, Cli, clean
from tests.cli.conftest import running
from tests.cli.scraping import Scraper
from tests.forked import SUPERVISOR
from tests.servers import serve

pytestmark = pytest.mark.slow

HANDLER = """
import os
from collections.abc import Iterator
from pathlib import Path
from holdfast import Handlers

handlers = Handlers()

@handlers.lifespan
def at_the_start() -> Iterator[Path]:
    if Path("dies").exists():
        os._exit(1)
    yield Path("dies")

@handlers.default
async def handle(messages):
    if messages[-1]["parts"][0]["text"] == "bad":
        raise ValueError("bad")
"""
HEALTHY = 20  # minutes
ROUNDS = 5
WEBHOOKS = 1100


@contextmanager
def pool(folder: Path, *options: str) -> Iterator[tuple[Cli, Timeline]]:
    """Two workers that fail what is `bad`, and die at their start once a file `dies` is in the folder."""
    (folder / "agent.py").write_text(HANDLER)
    place = folder / "metrics.sock"
    words = ("agent:handlers", "--workers", "2", "--metrics", f"unix:{place}", *options)
    with running(folder, *words) as (cli, _):
        timeline = Timeline(Scraper(place))
        timeline.add(minutes=HEALTHY, fits=lambda now: now.value("holdfast_reporter") == 1)
        yield cli, timeline


@contextmanager
def dispatcher(cli: Cli, name: str) -> Iterator[Scraper]:
    """A steward without workers on the queue of `cli`."""
    place = cli.folder / f"{name}.sock"
    command = [SUPERVISOR, "dispatch", *cli.options, "--metrics", f"unix:{place}"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=cli.folder, env=clean(cli.environ)
    ) as process:
        assert process.stderr is not None
        rest = Thread(target=deque, args=(process.stderr, 0))  # a full pipe would stop it
        try:
            assert next(line for line in process.stderr if "steward ready" in line)
            rest.start()
            yield Scraper(place)
        finally:
            process.kill()
            if rest.ident:
                rest.join()


def workers(cli: Cli) -> list[int]:
    processes = cli("status", "--json").document["processes"]
    return [process["pid"] for process in processes if process["kind"] == "worker" and process["state"] == "ready"]


def test_killed_workers_failures_dead_letters_and_unreadable_entries(short_path: Path) -> None:
    with pool(short_path) as (cli, timeline), Redis(unix_socket_path=str(short_path / "run/store.sock")) as plain:
        for number in range(1, ROUNDS + 1):
            os.kill(workers(cli)[0], signal.SIGKILL)
            assert cli("submit", "bad", "--max-attempts", "1", "--wait").status == 1
            plain.rpush("bindu:tasks", "no JSON")
            timeline.add(
                minutes=2,
                fits=lambda now, wanted=number: (
                    now.value("holdfast_deaths_total", cause="signal", kind="worker") == wanted
                    and now.value("holdfast_dead_letters") == now.value("holdfast_unreadable") == wanted
                    and now.value("holdfast_workers_ready") == 2
                ),
            )
        timeline.add(minutes=5)
    alerts = ("HoldfastDeaths", "HoldfastFailures", "HoldfastDeadLetters", "HoldfastUnreadable")
    assert_fired(timeline, *alerts, healthy_minutes=HEALTHY)
    assert_shown(timeline, shown_by_the_dashboard())


def shown_by_the_dashboard() -> list[str]:
    """The queries of its panels, but for the one of PostgreSQL."""
    panels = json.loads((ROOT / "config/grafana.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    found = [each.replace("$queue", ".*").replace("$__rate_interval", "10m") for each in asked]
    return [each for each in found if "ledger" not in each]


def test_a_backlog_that_grows_and_no_workers(cli: Cli) -> None:
    with dispatcher(cli, "one") as scraper:
        timeline = Timeline(scraper)
        timeline.add(minutes=HEALTHY, fits=lambda now: now.value("holdfast_reporter") == 1)
        for number in range(1, ROUNDS + 1):
            lines = "".join(f"{number} {line}\n" for line in range(300))
            assert cli("submit", "--lines", "-", stdin=lines.encode()).status == 0
            timeline.add(minutes=8, fits=lambda now, wanted=300 * number: now.value("holdfast_lane_depth") == wanted)
    assert_fired(timeline, "HoldfastBacklog", "HoldfastBacklogGrows", "HoldfastNoWorkers", healthy_minutes=HEALTHY)


def test_a_store_that_is_full_and_then_does_not_answer(short_path: Path) -> None:
    with (
        serve(short_path, "--maxmemory", "40mb") as server,
        pool(short_path, "--redis-url", server.url) as (_, timeline),
    ):
        with Redis.from_url(server.url) as plain:
            for number in range(34):
                plain.set(f"of another application {number}", b"." * (1 << 20))
        timeline.add(minutes=10, fits=lambda now: now.value("holdfast_store_memory_bytes") > 34 << 20)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            timeline.add(minutes=5, fits=lambda now: now.value("holdfast_store_up") == 0)
        finally:
            os.kill(server.pid, signal.SIGCONT)
    assert_fired(timeline, "HoldfastStoreMemory", "HoldfastStoreUnreachable", healthy_minutes=HEALTHY)


def test_workers_that_die_at_their_start(short_path: Path) -> None:
    """Three, as each of them is started again later and later."""
    with pool(short_path, "--workers", "3") as (cli, timeline):
        (short_path / "dies").touch()
        for pid in workers(cli):
            os.kill(pid, signal.SIGKILL)
        timeline.add(minutes=10, fits=lambda now: now.value("holdfast_breaker_open") == 1)
    assert_fired(timeline, "HoldfastBreakerOpen", "HoldfastWorkersMissing", "HoldfastDeaths", healthy_minutes=HEALTHY)


def test_a_receiver_of_webhooks_that_is_away(cli: Cli) -> None:
    lines = "".join(f"{line}\n" for line in range(WEBHOOKS))
    loopback = {"HOLDFAST_WEBHOOK_ALLOW_PRIVATE": "1"}  # else it is refused, and none waits for long
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as nobody,
        dispatcher(replace(cli, environ=loopback), "one") as scraper,
    ):
        receiver = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        timeline = Timeline(scraper)
        timeline.add(minutes=HEALTHY, fits=lambda now: now.value("holdfast_reporter") == 1)
        assert cli("submit", "--lines", "-", "--webhook", receiver, stdin=lines.encode()).status == 0
        assert cli("queue", "clear", "--yes").out == f"{WEBHOOKS} cleared\n"
        timeline.add(minutes=20, fits=lambda now: now.value("holdfast_webhooks_waiting") > 1000)
    assert_fired(timeline, "HoldfastWebhooksWait", healthy_minutes=HEALTHY)


def test_a_schedule_that_no_host_may_fire(short_path: Path) -> None:
    with pool(short_path) as (cli, timeline):
        assert cli("control", "HALT").status == 0
        timeline.add(minutes=1, fits=lambda now: now.value("holdfast_schedules") == 0)
        assert cli("schedules", "set", "nightly", "late", "--at", "2020-01-31T12:00:00Z").status == 0
        timeline.add(minutes=5, fits=lambda now: now.value("holdfast_schedules_lateness_seconds") > 0)
    assert_fired(timeline, "HoldfastSchedulesLate", healthy_minutes=HEALTHY)


def test_a_host_whose_processes_are_gone_at_once(cli: Cli) -> None:
    lease = {"HOLDFAST_LEASE": "1", "HOLDFAST_LEASE_GRACE": "3600"}
    words = ("agent:handlers", "--workers", "2", *cli.options, "--state-dir", str(cli.folder / "state"))
    with dispatcher(replace(cli, environ=lease), "one") as scraper:
        timeline = Timeline(scraper)
        timeline.add(minutes=HEALTHY, fits=lambda now: now.value("holdfast_reporter") == 1)
        (cli.folder / "agent.py").write_text(HANDLER)
        with running(cli.folder, *words, environ=lease) as (_, process):
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for each in family:
                    each.send_signal(number)
        timeline.add(minutes=5, fits=lambda now: now.value("holdfast_leases", state="silent") == 2)
    assert_fired(timeline, "HoldfastSilentWorkers", healthy_minutes=HEALTHY)


def test_a_reporter_that_is_not_scraped(cli: Cli) -> None:
    with dispatcher(cli, "one") as one, dispatcher(cli, "two") as two:
        timeline = Timeline(one)
        timeline.add(minutes=HEALTHY, fits=lambda now: now.value("holdfast_reporter") == 1)
        timeline.scraper = two
        timeline.add(minutes=10, fits=lambda now: now.value("holdfast_store_up") == 1)
    assert_fired(timeline, "HoldfastNotReported", healthy_minutes=HEALTHY)
