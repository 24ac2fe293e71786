"""Schedules where the queue is in memory: they fire, and are lost with their process."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.single.process import single

AGENT = """
import asyncio
from collections.abc import AsyncIterator
from holdfast import Handlers, create_broker

handlers = Handlers()

@handlers.register("tick")
async def tick(beat: int):
    print("ticked", beat)

handlers.schedule("of-the-code", every=0.2, name="tick", kwargs={"beat": 1})

async def begin():
    async with create_broker() as broker:
        found = {one.definition.schedule_id for one in (await broker.manager.schedules.list()).schedules}
        print("durable ones from before:", sorted(found - {"of-the-code"}))
        following = await broker.manager.schedules.upsert("mine", every=0.2, name="tick", kwargs={"beat": 2})
        print("next", following.tzinfo)

@handlers.lifespan
async def beginning() -> AsyncIterator[None]:
    task = asyncio.create_task(begin())
    yield
"""


def test_they_fire_and_are_lost_with_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        with single(tmp_path, AGENT, HOLDFAST_HANDLER="agent:handlers") as service:
            line = service.until("ticked 2")
            if "ticked 1" not in line:
                line += service.until("ticked 1")
            service.send(signal.SIGTERM)
            service.ended()
        assert "durable ones from before: []" in line
        assert "next UTC" in line
