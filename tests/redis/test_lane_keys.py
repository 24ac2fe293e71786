"""A lane has one bell, one sequence and one list, however it is spelled."""

from __future__ import annotations

import pytest

from holdfast.core.acceptance import Submission
from holdfast.core.messages import text_part
from holdfast.core.worker_records import Introduction
from holdfast.store import open_store
from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings
from tests.envelopes import build_run


@pytest.mark.parametrize(
    ("lane", "key"),
    [
        ("bindu:tasks", "bindu:tasks"),
        ("high", "{bindu:tasks}:lane:high"),
        ("{bindu:tasks}:lane:high", "{bindu:tasks}:lane:high"),
        ("bindu:tasks:high", "bindu:tasks:high"),
    ],
)
def test_lane_is_a_list(lane: str, key: str) -> None:
    assert Keys("bindu:tasks").lane(lane) == key


@pytest.mark.anyio
async def test_task_submitted_by_a_lanes_name_is_rung_and_pulled_by_its_list(redis_settings: RedisSettings) -> None:
    built = build_run("a", [text_part("a")])
    spelled = f"{{{redis_settings.queue}}}:lane:high"
    async with open_store(redis_settings) as store:
        await store.submit([Submission("a", built.message_id, built.digest, built.operation, "high")])
        await store.register(Introduction("w", "host", "boot", 1, 0))
        hint = await store.listen("w", [spelled], 1.0)
        pulled = await store.pull("w", 1, 1, [spelled], [])
    assert hint
    assert hint.kind == "bell"
    assert [delivery.task_id for delivery in pulled.deliveries] == ["a"]
