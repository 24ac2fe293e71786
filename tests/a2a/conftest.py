"""A pool that serves as an agent, once for all tests of a file."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from tests.a2a.thin_client import TOKEN, VIEWER, ThinClient
from tests.cli.commands import Cli
from tests.cli.conftest import running
from tests.web.test_process import free_port

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ServedPool:
    """`folder`: for the files of tests; `http`: of all its clients."""

    cli: Cli
    base: str
    folder: Path
    http: httpx.Client

    def client(self, version: str = "1.0", **chosen: str) -> ThinClient:
        return ThinClient(self.base, self.http, version, **chosen)

    def kill_workers(self) -> int:
        """SIGKILL for each worker; their number."""
        processes = self.cli("status", "--json").document["processes"]
        workers = [each["pid"] for each in processes if each["kind"] == "worker" and each["pid"]]
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        return len(workers)


@contextmanager
def serving(folder: Path, handler: str = "tests.a2a.served_agent:handlers") -> Iterator[ServedPool]:
    port = free_port()
    words = ("--workers", "2", "--web", str(port), "--web-a2a", "--webhook-allow-private", handler)
    settings = {
        "HOLDFAST_WEB_TOKEN": TOKEN,
        "HOLDFAST_WEB_VIEWER_TOKEN": VIEWER,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }
    with running(folder, *words, environ=settings) as (cli, _), httpx.Client(timeout=60) as http:
        yield ServedPool(cli, f"http://127.0.0.1:{port}", folder, http)


@pytest.fixture(scope="module")
def pool() -> Iterator[ServedPool]:
    with TemporaryDirectory(dir="/tmp") as folder, serving(Path(folder)) as served:
        yield served


@pytest.fixture(params=["1.0", "0.3"])
def client(request: pytest.FixtureRequest, pool: ServedPool) -> ThinClient:
    return pool.client(request.param)
