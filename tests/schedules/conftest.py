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


@pytest.fixture
async def unchecked(server_url: str, anyio_backend: object) -> AsyncIterator[Stage]:
    """A stage on which records of tasks are damaged: the invariants are those of whole ones."""
    async with namespace(server_url) as space:
        yield await Stage(space).begin()
