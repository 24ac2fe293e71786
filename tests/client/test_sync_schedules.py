"""Schedules without async."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import InvalidScheduleError, UnknownScheduleError
from holdfast.sync import TaskManager

if TYPE_CHECKING:
    from holdfast_config import RedisSettings


def test_a_schedule_is_set_looked_at_and_removed(redis_settings: RedisSettings) -> None:
    with TaskManager(redis_settings) as manager:
        following = manager.schedules.upsert("j", every=3600, text="go")
        assert following is not None
        assert following > datetime.now(UTC)
        assert manager.schedules.upsert("j", every=3600, text="go") == following
        manager.schedules.pause("j", "later")
        [record] = manager.schedules.list().schedules
        assert record.paused == "later"
        manager.schedules.resume("j")
        assert manager.schedules.get("j").paused == ""
        manager.schedules.remove("j")
        with pytest.raises(UnknownScheduleError):
            manager.schedules.get("j")
        with pytest.raises(InvalidScheduleError):
            manager.schedules.upsert("j", every=0, text="go")
