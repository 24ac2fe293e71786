"""A namespace for each test of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast_config.settings import MEMORY
from tests.lua.namespace import Namespace, namespace


@pytest.fixture(params=["server", "memory"])
async def space(request: pytest.FixtureRequest, anyio_backend: object) -> AsyncIterator[Namespace]:
    """The session's server under a queue of its own, or a store in memory; with a clock that the test moves."""
    url = request.getfixturevalue("server_url") if request.param == "server" else MEMORY
    async with namespace(url) as made:
        yield made
