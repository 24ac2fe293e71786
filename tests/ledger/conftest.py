"""One server for the tests of this folder, with our tables; and a queue of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from tests.ledger.ledger import Ledger, ledger
from tests.ledger.server import Server
from tests.ledger.tables import make


@pytest.fixture
async def books(server_url: str, postgres_server: Server, anyio_backend: object) -> AsyncIterator[Ledger]:
    """The session's two servers, under a queue of its own."""
    async with ledger(server_url, postgres_server.url("tasks")) as made:
        yield made


@pytest.fixture
def database(postgres_server: Server) -> Iterator[str]:
    """The URL of a database of this test's own, with our tables."""
    name = f"t{uuid4().hex[:12]}"
    postgres_server.statement(f"CREATE DATABASE {name}")
    make(postgres_server.url(name))
    yield postgres_server.url(name)
    postgres_server.statement(f"DROP DATABASE {name} WITH (FORCE)")
