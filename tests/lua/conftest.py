"""A namespace for each test of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.lua.namespace import Namespace, namespace


@pytest.fixture
async def space(server_url: str, anyio_backend: object) -> AsyncIterator[Namespace]:
    """The session's server under a queue of its own, with a clock that the test moves."""
    async with namespace(server_url) as made:
        yield made
