"""Producers of Holdfast push operations of the framework's own types to the list: a strict consumer takes them."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

from bindu.common.protocol.types import TaskSendParams
from pydantic import TypeAdapter

from holdfast.client.manager import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio


async def test_a_strict_consumer_takes_what_is_submitted(redis_settings: RedisSettings) -> None:
    async with open_store(redis_settings) as store:
        task_id = await TaskManager(store, queue=redis_settings.queue).run_task("hello", metadata={"a": 1})
        record = await store.get(task_id)
    assert record is not None
    assert record.operation is not None
    read = TypeAdapter(TaskSendParams).validate_json(json.dumps(json.loads(record.operation)["params"]))
    assert str(read["message"]["task_id"]) == str(read["message"]["context_id"]) == task_id
