"""Fires that a worker makes itself, without a steward: those of schedules that go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.store import open_store
from holdfast_config import RedisSettings
from tests.telemetry.receiver import Received, Receiver, attributes, receiving
from tests.worker.processes import worker

pytestmark = pytest.mark.anyio

FIRES = 3


async def test_each_is_a_span_that_its_run_links_to(redis_settings: RedisSettings, short_path: Path) -> None:
    url, queue = redis_settings.url, redis_settings.queue
    async with open_store(redis_settings) as store:
        await TaskManager(store, queue=queue).schedules.upsert("round", schedule="CONTINUE", limit=FIRES, text="a")
        await ScheduleFirer(store, queue, 1 << 20).round()  # the first one, as a steward without a collector
    with (
        receiving() as receiver,
        worker("echo", folder=short_path, url=url, queue=queue, otlp_endpoint=receiver.endpoint),
    ):
        fires = receiver.until(lambda: len(found := called(receiver, f"fire {queue}")) == FIRES - 1 and found)
        runs = receiver.until(lambda: len(found := called(receiver, f"process {queue}")) == FIRES and found)
    assert {fire.resource["service.name"] for fire in fires} == {"holdfast-worker"}
    assert {attributes(fire.item.attributes)["holdfast.schedule.id"] for fire in fires} == {"round"}
    links = {link.span_id for run in runs for link in run.item.links}
    assert links == {fire.item.span_id for fire in fires}


def called(receiver: Receiver, name: str) -> list[Received]:
    return [each for each in receiver.spans_with_resource() if each.item.name == name]
