"""Fixtures of the timeline scheduler's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands import Inside
from tests.timeline.timeline import Timeline

if TYPE_CHECKING:
    from holdfast_config import RedisSettings


@pytest.fixture
def timeline(redis_settings: RedisSettings, short_path: Path) -> Iterator[Timeline]:
    timeline = Timeline(short_path, redis_settings)
    yield timeline
    timeline.close()


@pytest.fixture
def inside(timeline: Timeline, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Commands of the timeline in this process, which spares their start; nobody serves."""
    return Inside(timeline.folder, ("--config", str(timeline.conf)), capsys=capsys)
