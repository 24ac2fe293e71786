"""A scraper of metrics, over a port or a unix socket, and readings by name and labels."""

from __future__ import annotations

import http.client
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.cli.commands import Cli
from tests.cli.conftest import running

PATIENCE = 60.0  # seconds: so long a test that fails takes


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(self._path))


@dataclass(frozen=True)
class Scrape:
    """`samples`: name, labels and value of each."""

    samples: list[tuple[str, dict[str, str], float]]

    @classmethod
    def of(cls, text: str) -> Scrape:
        families = text_string_to_metric_families(text)
        return cls([(each.name, each.labels, each.value) for family in families for each in family.samples])

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of this name with these labels; -1 if there is none."""
        found = [value for each, its, value in self.samples if each == name and labels.items() <= its.items()]
        return sum(found) if found else -1.0


@dataclass(frozen=True)
class Scraper:
    """`place`: the socket's path, or the URL of the metrics."""

    place: Path | str

    def get(self, page: str, **headers: str) -> tuple[int, str]:
        if isinstance(self.place, str):
            with urllib.request.urlopen(self.place.replace("/metrics", page), timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        connection = _UnixConnection(self.place)
        try:
            connection.request("GET", page, headers=headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def scrape(self) -> Scrape:
        status, text = self.get("/metrics")
        assert status == 200, text
        return Scrape.of(text)

    def until(self, fits: Callable[[Scrape], bool]) -> Scrape:
        """The first scrape that fits."""
        ends = time.monotonic() + PATIENCE
        while not fits(scrape := self.scrape()):
            assert time.monotonic() < ends, scrape.samples
        return scrape

    def answers(self, page: str, status: int) -> str:
        """The first answer of this page with this status."""
        ends = time.monotonic() + PATIENCE
        while (answer := self.get(page))[0] != status:
            assert time.monotonic() < ends, answer
        return answer[1]


@contextmanager
def scraped(folder: Path, *options: str) -> Iterator[tuple[Cli, Scraper]]:
    """A pool that counts words, with metrics on a unix socket."""
    place = folder / "metrics.sock"
    with running(folder, "examples.wordcount:handle", "--metrics", f"unix:{place}", *options) as (cli, _):
        yield cli, Scraper(place)
