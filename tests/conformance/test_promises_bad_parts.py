"""Promise about what a manager or a broker is made from: what is of no use is named before anything begins."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast import create_broker
from holdfast.client.manager import TaskManager
from holdfast.errors import InvalidTaskError
from holdfast.sync import TaskManager as SyncTaskManager
from holdfast_config import ConfigError, RedisSettings
from tests.conformance.test_promises_bad_input import Hostile

OF_NO_USE = [5, b"x", "x", ["x"], {"a": 1}, True, math.nan, object(), Hostile()]


@pytest.mark.parametrize("part", ["settings", "handlers", "retries", "max_message_bytes", "database"])
def test_what_a_manager_cannot_be_made_from_is_named(part: str) -> None:
    redis: Any = RedisSettings("redis://localhost")
    for bad in (bad for bad in OF_NO_USE if (part, bad) != ("max_message_bytes", 5)):
        given: Any = {part: bad}
        with pytest.raises(InvalidTaskError, match=part):
            SyncTaskManager(**{"settings": redis, **given})
        if part not in {"settings", "database"}:
            with pytest.raises(InvalidTaskError, match=part):
                TaskManager(None, queue="q", **given)  # type: ignore[arg-type]  # no store is asked


@pytest.mark.parametrize(
    "keyword", ["settings", "type", "redis_url", "queue_name", "max_connections", "handlers", "retries"]
)
def test_what_a_broker_cannot_be_made_from_is_named(keyword: str) -> None:
    for bad in (5, b"x", ["x"], {"a": 1}, "\udc80", math.nan, "x" * 5_000, "a\nb", "", object()):
        if (keyword, bad) == ("max_connections", 5):
            continue
        settings: list[Any] = [bad] if keyword == "settings" else []
        keywords: dict[str, Any] = {} if keyword == "settings" else {keyword: bad}
        with pytest.raises((ConfigError, InvalidTaskError)) as refused:
            create_broker(*settings, **keywords)
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < 500


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("keyword", "bad"),
    [
        *(("workers", bad) for bad in [0, -1, 1001, 1.5, "2", True, None, Hostile()]),
        *(("drain_timeout", bad) for bad in [-1, math.nan, math.inf, "5", None, Hostile()]),
    ],
)
async def test_workers_that_cannot_be_are_named(keyword: str, bad: Any) -> None:
    async with create_broker(type="memory") as broker:
        with pytest.raises(InvalidTaskError, match=keyword):
            async with broker.working(lambda messages: None, **{keyword: bad}):
                pytest.fail("nothing works")
