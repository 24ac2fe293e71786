"""A fresh store for each test, of three kinds; with `--all` of each kind that can be had here."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conformance.stand import Stand
from tests.conformance.stands import STANDS, USUAL
from tests.constellations import cluster
from tests.servers import serve


@pytest.fixture(params=[pytest.param(name, marks=() if name in USUAL else pytest.mark.long) for name in STANDS])
async def stand(request: pytest.FixtureRequest, anyio_backend: object) -> AsyncIterator[Stand]:
    """The store of this kind, empty, with a clock that the test moves."""
    async with STANDS[request.param](request) as made:
        yield made


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A redis-server of this host."""
    found = shutil.which("redis-server")
    if found is None:
        pytest.skip("no redis-server on PATH")
    with TemporaryDirectory(prefix="holdfast-") as folder, serve(Path(folder), program=Path(found)) as server:
        yield server.url


@pytest.fixture(scope="session")
def cluster_url() -> Iterator[str]:
    """A Cluster of a single node."""
    with TemporaryDirectory(prefix="holdfast-") as folder, cluster(Path(folder), masters=1) as nodes:
        yield nodes.url
