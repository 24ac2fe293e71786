"""Pairs over a queue of their own, and real workers of ours beside them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

os.environ.setdefault("LOGGING__LOG_DIR", tempfile.gettempdir())  # else the framework logs into the current folder

from holdfast.ipc.channel import Ready
from holdfast_config import RedisSettings, Settings
from tests.worker.processes import booting

if TYPE_CHECKING:
    from holdfast.bindu import SchedulerAndStorage


@pytest.fixture
def settings(redis_settings: RedisSettings, short_path: Path) -> Settings:
    return Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue, runtime_dir=short_path)


@pytest.fixture
async def pair(settings: Settings, anyio_backend: object) -> AsyncIterator[SchedulerAndStorage]:
    """A scheduler and a storage, open; they consume nothing."""
    from holdfast.bindu import connect

    made = connect(settings)
    try:
        async with made.scheduler:
            yield made
    finally:
        await made.storage.close()


@pytest.fixture
def working(redis_settings: RedisSettings, short_path: Path) -> Iterator[Callable[[str], None]]:
    """Start a worker process of ours with this handler."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(target: str, **flags: Any) -> None:
            where = {"folder": short_path, "url": redis_settings.url, "queue": redis_settings.queue}
            stack.enter_context(booting(target, **where, **flags)).expect(Ready)

        yield start
