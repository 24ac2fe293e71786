"""Metrics of a real supervisor, as a scraper gets them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis import Redis

from holdfast.telemetry.metric_table import TABLE, Kind, Metric, Scope
from tests.cli.commands import Cli, clean
from tests.cli.scraping import Scrape, Scraper, scraped
from tests.forked import SUPERVISOR
from tests.servers import serve, valkey

HOST = {metric for metric in TABLE if metric.scope is Scope.HOST}
# Metrics of a queue that are there once something of the kind happened, or with storage in PostgreSQL.
LATER = {
    "holdfast.deliveries",
    "holdfast.task.wait",
    "holdfast.task.run",
    "holdfast.payload",
    "holdfast.host.recovered",
    "holdfast.task.recovery",
}
OF_LEDGER = {"holdfast.ledger.lag", "holdfast.ledger.waiting"}


@pytest.fixture(scope="module")
def pool() -> Iterator[tuple[Cli, Scraper]]:
    with TemporaryDirectory(prefix="holdfast-") as folder, scraped(Path(folder), "--workers", "2") as (cli, scraper):
        yield cli, scraper


def names(metric: Metric) -> set[str]:
    name = metric.prometheus_name
    return {f"{name}{end}" for end in ("_bucket", "_sum", "_count")} if metric.kind is Kind.HISTOGRAM else {name}


def pids(cli: Cli, kind: str) -> list[int]:
    return [process["pid"] for process in cli("status", "--json").document["processes"] if process["kind"] == kind]


def submit(cli: Cli, *texts: str) -> None:
    assert cli("submit", *texts, "--wait").status == 0


def test_a_pool_tells_of_its_processes_and_its_queue(pool: tuple[Cli, Scraper]) -> None:
    _, scraper = pool
    scrape = scraper.until(lambda now: now.value("holdfast_workers_ready") == 2)
    assert scrape.value("holdfast_processes", kind="worker", state="ready") == 2
    assert scrape.value("holdfast_process_memory_bytes", process="worker-1") > 1_000_000
    scraper.until(lambda now: now.value("holdfast_process_cpu_seconds_total", process="steward") > 0)
    assert (scrape.value("holdfast_store_up"), scrape.value("holdfast_reporter")) == (1, 1)
    assert scrape.value("holdfast_leases", state="held", queue="bindu:tasks") == 2
    told = {name for name, _, _ in scrape.samples}
    expected = [metric for metric in TABLE if metric.name not in LATER | OF_LEDGER and not metric.only_otlp]
    assert [metric.name for metric in expected if not names(metric) <= told] == []
    assert told <= {name for metric in TABLE for name in names(metric)}


def test_deliveries_are_counted_with_their_times(pool: tuple[Cli, Scraper]) -> None:
    cli, scraper = pool

    def completed(scrape: Scrape) -> float:
        return max(0.0, scrape.value("holdfast_deliveries_total", outcome="completed", lane="bindu:tasks"))

    before = completed(scraper.scrape())
    submit(cli, "a", "b c", "d")
    scrape = scraper.until(lambda now: completed(now) == before + 3)
    assert scrape.value("holdfast_lane_depth", lane="bindu:tasks") == 0
    scraper.until(lambda now: now.value("holdfast_task_run_seconds_count") == completed(now))
    again = scraper.until(lambda now: now.value("holdfast_task_wait_seconds_count") >= before + 3)
    assert again.value("holdfast_task_run_seconds_bucket", le="+Inf") == again.value("holdfast_task_run_seconds_count")
    assert again.value("holdfast_payload_bytes_total", content="operation") > 0


def test_promtool_finds_nothing_to_mend(pool: tuple[Cli, Scraper]) -> None:
    """Names, units, kinds and help texts are as Prometheus wants them."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool, of the package prometheus, is not on the path")
    text = pool[1].get("/metrics")[1]
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_killed_worker_is_counted(pool: tuple[Cli, Scraper]) -> None:
    cli, scraper = pool

    def deaths(scrape: Scrape) -> float:
        return scrape.value("holdfast_deaths_total", kind="worker", cause="signal")

    before = deaths(scraper.scrape())
    assert before >= 0, "a first death could not be seen as growth"
    os.kill(pids(cli, "worker")[0], signal.SIGKILL)
    scrape = scraper.until(lambda now: deaths(now) == before + 1)
    scraper.until(lambda now: now.value("holdfast_workers_ready") == 2)
    assert scrape.value("holdfast_breaker_open") == 0


def test_a_new_steward_goes_on_with_the_same_socket(pool: tuple[Cli, Scraper]) -> None:
    cli, scraper = pool
    before = scraper.scrape().value("holdfast_process_restarts_total", process="steward")
    os.kill(pids(cli, "steward")[0], signal.SIGKILL)
    while True:  # connections that it had accepted have ended with it
        try:
            scraper.until(lambda now: now.value("holdfast_process_restarts_total", process="steward") == before + 1)
            break
        except (ConnectionError, OSError):
            continue
    scraper.until(lambda now: now.value("holdfast_reporter") == 1)


def test_clients_that_send_nothing_keep_nobody_out(pool: tuple[Cli, Scraper]) -> None:
    _, scraper = pool
    with ExitStack() as stack:
        for _ in range(100):
            idle = stack.enter_context(socket.socket(socket.AF_UNIX))
            idle.connect(str(scraper.place))
        assert scraper.get("/healthz") == (200, "ok\n")
        assert scraper.scrape().value("holdfast_store_up") == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
        (b"GET /other HTTP/1.1\r\n\r\n", b"404"),
        (b"HEAD /healthz HTTP/1.1\r\n\r\n", b"200"),
        (b"\xff\xfe\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", b""),
    ],
)
def test_a_request_that_is_none_is_answered_or_dropped(pool: tuple[Cli, Scraper], sent: bytes, status: bytes) -> None:
    _, scraper = pool
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(str(scraper.place))
        answer = b""
        try:
            client.sendall(sent)
            while part := client.recv(1 << 16):
                answer += part
        except ConnectionError:
            pass
    assert answer[9:12] == status
    assert answer.partition(b"\r\n\r\n")[2] == b"" or status != b"200"


def test_the_pages_say_how_it_is(pool: tuple[Cli, Scraper]) -> None:
    _, scraper = pool
    assert scraper.answers("/readyz", 200) == "ready\n"
    assert scraper.get("/healthz") == (200, "ok\n")
    status, text = scraper.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert status == 200
    assert text.endswith("# EOF\n")


def test_a_store_that_does_not_answer_is_told_of(short_path: Path) -> None:
    place = short_path / "metrics.sock"
    with serve(short_path) as server, ExitStack() as pool:
        process = started(short_path, "--metrics", f"unix:{place}", "--redis-url", server.url)
        pool.callback(killed, process)
        assert process.stderr is not None
        assert next(line for line in process.stderr if "worker ready" in line)
        scraper = Scraper(place)
        scraper.answers("/readyz", 200)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            assert re.search("store|Redis", scraper.answers("/readyz", 503))
            scrape = scraper.until(lambda now: now.value("holdfast_store_up") == 0)
            assert scrape.value("holdfast_workers_wanted") == 1
            assert scrape.value("holdfast_lane_depth") == -1
            assert scraper.get("/healthz") == (200, "ok\n")
        finally:
            os.kill(server.pid, signal.SIGCONT)
        scraper.until(lambda now: now.value("holdfast_store_up") == 1)
        scraper.answers("/readyz", 200)


def test_the_socket_is_open_to_the_owner_and_its_group_and_goes_with_the_service(short_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(str(short_path / "metrics.sock"))  # as a supervisor that was killed leaves it
    with scraped(short_path, "--workers", "1") as (_, scraper):
        assert isinstance(scraper.place, Path)
        assert stat.S_IMODE(scraper.place.stat().st_mode) == 0o660
        assert scraper.scrape().value("holdfast_workers_wanted") == 1
    assert not scraper.place.exists()


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    places = ("--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state"))
    return subprocess.Popen(
        [SUPERVISOR, "start", "examples.wordcount:handle", *options, *places],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=clean({}),
    )


def announced(process: subprocess.Popen[str]) -> str:
    """The URL that it prints."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"metrics at (http\S+)", line):
            return found[1]
    raise AssertionError("no URL was printed")


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()


def test_of_two_supervisors_one_reports_the_queue(short_path: Path) -> None:
    with valkey(short_path) as url, ExitStack() as stack:
        processes: list[subprocess.Popen[str]] = []
        for name in ("one", "two"):
            (short_path / name).mkdir()
            processes.append(started(short_path / name, "--metrics", "0", "--redis-url", url))
            stack.callback(killed, processes[-1])
        one, two = (Scraper(announced(process)) for process in processes)
        one.until(lambda now: now.value("holdfast_reporter") == 1)
        scrape = two.until(lambda now: now.value("holdfast_store_up") == 1)
        assert scrape.value("holdfast_reporter") == 0
        assert not {name for name, _, _ in scrape.samples} & {n for m in TABLE if m not in HOST for n in names(m)}
        assert one.scrape().value("holdfast_reporter") == 1
        processes[0].kill()
        scrape = two.until(lambda now: now.value("holdfast_reporter") == 1)
        assert scrape.value("holdfast_lane_depth", lane="bindu:tasks") >= 0


def test_a_steward_that_ends_passes_the_report_on_at_once(cli: Cli, short_path: Path) -> None:
    places = [short_path / name for name in ("one.sock", "two.sock")]
    with ExitStack() as stack:
        processes: list[subprocess.Popen[str]] = []
        for place in places:
            command = [SUPERVISOR, "dispatch", *cli.options, "--metrics", f"unix:{place}"]
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=short_path, env=clean({}))
            stack.callback(killed, process)
            processes.append(process)
            assert process.stderr is not None
            assert next(line for line in process.stderr if "steward ready" in line)
        one, two = map(Scraper, places)
        scrape = one.until(lambda now: now.value("holdfast_reporter") == 1)
        assert scrape.value("holdfast_process_memory_bytes", process="steward") > 1_000_000
        assert one.get("/readyz") == (200, "ready\n")
        assert two.scrape().value("holdfast_reporter") == 0
        _, url, _, queue = cli.options
        with Redis.from_url(url) as plain:
            before = plain.get(f"{{{queue}}}:reporter")
            assert before
            processes[0].terminate()
            assert processes[0].wait(60) == 0
            after = plain.get(f"{{{queue}}}:reporter")  # the other one asks for it every three seconds
            assert after != before, "its lease is left to end"
        two.until(lambda now: now.value("holdfast_reporter") == 1)


def test_a_queue_in_memory_is_told_of(short_path: Path) -> None:
    place = short_path / "metrics.sock"
    process = started(short_path, "--metrics", f"unix:{place}", "--scheduler-type", "memory")
    try:
        assert process.stderr is not None
        assert next(line for line in process.stderr if "worker ready" in line)
        scrape = Scraper(place).scrape()
        assert (scrape.value("holdfast_store_up"), scrape.value("holdfast_reporter")) == (1, 1)
        assert scrape.value("holdfast_lane_workers", lane="bindu:tasks") == 1
    finally:
        killed(process)


def test_a_taken_port_ends_the_start_in_one_line(alone: Cli, cli: Cli) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        for refused in (
            alone("start", "examples.wordcount:handle", "--metrics", str(port), "--state-dir", str(alone.folder)),
            cli("dispatch", "--metrics", str(port)),
        ):
            assert refused.status == 78
            [line] = refused.err.splitlines()
            assert line == (
                f"supervisor: --metrics 127.0.0.1:{port}: Address already in use: "
                "another process uses it: end that process, or choose another port (0: any free)"
            )


def test_a_place_that_cannot_be_had_ends_the_start_in_one_line(cli: Cli) -> None:
    live, file = cli.folder / "live.sock", cli.folder / "file"
    file.write_text("mine")

    def refused(place: str) -> str:
        answer = cli("dispatch", "--metrics", place)
        assert (answer.status, len(answer.err.splitlines())) == (78, 1)
        return answer.err

    with closing(socket.socket(socket.AF_UNIX)) as taken:
        taken.bind(str(live))
        taken.listen()
        assert "another process listens on it" in refused(f"unix:{live}")
    assert refused(f"unix:{file}").endswith(
        "a file that is no socket has this path: remove the file, or choose another path\n"
    )
    assert file.read_text() == "mine"
    assert "the folder of the socket does not exist" in refused(f"unix:{cli.folder}/none/m.sock")
    assert "this host has no such address" in refused("192.0.2.1:9464")


def test_nothing_of_it_is_imported_where_it_is_off() -> None:
    code = (
        "import sys; import holdfastd.parent.parent_process, holdfastd.steward.steward_process; "
        "import holdfastd.single.dispatch_process; "
        "print([name for name in sys.modules if name.startswith(('prometheus_client', 'holdfastd.steward.metrics'))])"
    )
    python = SUPERVISOR.with_name("python")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
