"""A stage for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.lua.namespace import namespace
from tests.schedules.stage import Stage


@pytest.fixture
async def stage(server_url: str, anyio_backend: object) -> AsyncIterator[Stage]:
    async with namespace(server_url) as space:
        made = await Stage(space).begin()
        yield made
        await space.check()
