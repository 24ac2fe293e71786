"""The stores that every test of this folder is run against. A new one is one line in STANDS.

Each run has those of USUAL; with `--all`, a run has every one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from holdfast_config.settings import MEMORY
from tests.conformance.stand import Stand
from tests.ledger.ledger import ledger
from tests.lua.namespace import namespace

Opening = Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[Stand]]


@asynccontextmanager
async def _valkey(request: pytest.FixtureRequest) -> AsyncGenerator[Stand]:
    async with namespace(request.getfixturevalue("server_url")) as space:
        yield space


@asynccontextmanager
async def _redis(request: pytest.FixtureRequest) -> AsyncGenerator[Stand]:
    async with namespace(request.getfixturevalue("redis_url")) as space:
        yield space


@asynccontextmanager
async def _cluster(request: pytest.FixtureRequest) -> AsyncGenerator[Stand]:
    """Of one node: it refuses a script that asks for keys of two slots."""
    async with namespace(request.getfixturevalue("cluster_url")) as space:
        yield space


@asynccontextmanager
async def _memory(_: pytest.FixtureRequest) -> AsyncGenerator[Stand]:
    async with namespace(MEMORY) as space:
        yield space


@asynccontextmanager
async def _postgres(request: pytest.FixtureRequest) -> AsyncGenerator[Stand]:
    """Kept by a ledger; its steward does a round when the stand is set up, and no more."""
    database = request.getfixturevalue("postgres_server").url("tasks")
    async with ledger(request.getfixturevalue("server_url"), database) as books:
        await books.keep()
        yield books.stand


STANDS: dict[str, Opening] = {
    "memory": _memory,
    "valkey": _valkey,
    "redis": _redis,
    "cluster": _cluster,
    "postgres": _postgres,
}

USUAL = {"memory", "cluster", "postgres"}  # without a server, on one that checks the keys of scripts, and with a ledger
