"""Fixtures for every test: the event loop, a real server, a namespace of its own. `--all` runs what takes long, too."""

from __future__ import annotations

import gc
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

import hypothesis
import pytest

from tests.flaky import flaky_lines, note_flaky
from tests.ledger.server import Server, postgres
from tests.servers import valkey

if TYPE_CHECKING:
    from holdfast_config import RedisSettings

# On a busy machine, examples that take long say nothing about the code.
hypothesis.settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="long plays, all seeds and all stores, too: make test-all")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`seeds(5, of=60)`: the test has an argument `seed`, which is below 5, and with `--all` below 60."""
    if mark := metafunc.definition.get_closest_marker("seeds"):
        [few], of = mark.args, mark.kwargs["of"]
        seeds = range(of) if isinstance(of, int) else of
        metafunc.parametrize("seed", seeds if metafunc.config.getoption("--all") else seeds[:few])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with slow tests first, then the longest ones: the last process is not left alone with one of them."""
    if not config.getoption("--all"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    note_flaky(items)
    lengths = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, -lengths[item.path]))


def pytest_collection_finish() -> None:
    """The objects of the collection stay: the garbage collector does not look through it again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if lines := flaky_lines(terminalreporter.stats):
        terminalreporter.section("flaky tests, which may be tried three times")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def heeded_signals() -> None:
    """Services under test heed these, even where the tests themselves are a background job or run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return ("asyncio", {"use_uvloop": True})


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose name is short enough for unix sockets (pytest's tmp_path often is not)."""
    with TemporaryDirectory(prefix="holdfast-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """One real server for the whole run; keep apart by queue names, never flush it."""
    with TemporaryDirectory(prefix="holdfast-") as folder, valkey(Path(folder)) as url:
        yield url


@pytest.fixture
def redis_settings(server_url: str) -> RedisSettings:
    """The session's server with a queue that no other test uses."""
    from holdfast_config import RedisSettings

    return RedisSettings(url=server_url, max_connections=10, queue=f"test:{uuid4().hex}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One PostgreSQL for the whole run, with our tables in the database `tasks`; keep apart by queue names."""
    from tests.ledger.tables import make

    with postgres() as server:
        server.statement("CREATE DATABASE tasks")
        make(server.url("tasks"))
        yield server
