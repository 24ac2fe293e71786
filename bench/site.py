"""One system on a fresh server with a fresh file of records: what every measurement stands on."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.environ import environ
from bench.environments import environment
from bench.pool import folder
from bench.records import Record, Records, records
from bench.systems import System
from bench.tcp_server import TcpServer, tcp_server
from bench.waiting import until
from bench.worker_tree import WorkerTree

PRODUCED_WITHIN = 300.0  # seconds
STARTED_WITHIN = 30.0  # seconds until a worker runs its first task
ALL_WITHIN = 5.0  # seconds more, and half a second for each worker, until all have run one


@dataclass(frozen=True, slots=True)
class Subject:
    """A system as it is measured: with so many workers, on this program as its server."""

    title: str
    system: System
    workers: int
    program: str


@dataclass(slots=True)
class Site:
    subject: Subject
    server: TcpServer
    records: Records
    tree: WorkerTree
    python: Path
    environ: dict[str, str]

    def produce(self, action: str, *values: float) -> dict[str, float] | None:
        """Run the producer; its answer, None where the system lacks such a call."""
        with self.producer(action, *values) as process:
            out, _ = process.communicate(timeout=PRODUCED_WITHIN)
        if process.returncode:
            raise RuntimeError(f"the producer of {self.subject.title} failed: {self.tail()}")
        return json.loads(out.splitlines()[-1])

    def producer(self, action: str, *values: float) -> subprocess.Popen[str]:
        command = [self.python, "-m", "bench.apps.producer", self.subject.system.app, action, *map(str, values)]
        with self.tree.log.open("ab") as errors:
            return subprocess.Popen(command, env=self.environ, stdout=subprocess.PIPE, stderr=errors, text=True)

    def start(self) -> None:
        """Start the workers, and wait until each has run a task and none is left; some systems spare a worker."""
        self.tree.start()
        wanted, seen = 0, set[int]()
        deadline = time.monotonic() + STARTED_WITHIN
        while len(seen) < self.subject.workers and time.monotonic() < deadline:
            if seen:
                deadline = min(deadline, time.monotonic() + ALL_WITHIN + self.subject.workers / 2)
            wanted += 4 * self.subject.workers
            self.produce("typed", 4 * self.subject.workers)
            self.wait(lambda wanted=wanted: self.records.count() >= wanted, STARTED_WITHIN, "its workers run tasks")
            seen = {record.pid for record in self.records.read()}

    def wait(self, happened: Callable[[], bool], seconds: float, what: str) -> None:
        """As `until`, with the end of the log in the error."""
        try:
            until(happened, seconds, f"{self.subject.title}: {what}", every=0.005)
        except TimeoutError as error:
            error.add_note(self.tail())
            raise

    def since(self, start: int, kind: int) -> list[Record]:
        return [record for record in self.records.read(start) if record.kind == kind]

    def tail(self) -> str:
        return self.tree.log.read_text(errors="replace")[-600:]


@contextmanager
def open_site(subject: Subject, more: Mapping[str, str] | None = None) -> Generator[Site]:
    """Nothing has been started but the server; whatever is started ends with the block. `more`: variables beside."""
    with records() as seen, folder() as place, tcp_server(place, subject.program) as server:
        bin_folder = environment(subject.system.pins) / "bin"
        variables = {**_environ(subject.system, seen, server.url), **(more or {})}
        tree = WorkerTree(list(_commands(subject, bin_folder, place, server.url)), variables, place, place / "log")
        tree.log.touch()
        try:
            yield Site(subject, server, seen, tree, bin_folder / "python", variables)
        finally:
            tree.end()


def _environ(system: System, seen: Records, url: str) -> dict[str, str]:
    return {**environ(seen), "BENCH_URL": url, "BENCH_OPTIONS": json.dumps(system.options)}


def _commands(subject: Subject, bin_folder: Path, place: Path, url: str) -> Iterator[list[str]]:
    for number in range(subject.workers if subject.system.each else 1):
        values = {"workers": subject.workers, "url": url, "place": place / str(number)}
        program, *rest = (part.format(**values) for part in subject.system.command)
        yield [str(bin_folder / program), *rest]
