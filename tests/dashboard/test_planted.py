"""Script tags in every field that a page shows: no page has one as it was planted."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from holdfast import Handlers, Task
from holdfast.app import create_broker
from holdfast.client.task_spec import TaskSpec
from holdfast.core.activity import Activity
from holdfast.core.task_states import State
from holdfast.core.tasks import Introduction
from holdfast_config import RedisSettings
from holdfastd.web.application import PAGES
from tests.dashboard.handlers import settings_of
from tests.dashboard.site import HTML, Site, site
from tests.dashboard.test_bulk import ended
from tests.dashboard.test_pages import push

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"
QUOTED = quote(SCRIPT, safe="")
TAG = re.compile(r"<script(?! src=\"/static/[\w.]+\" defer></script>)", re.IGNORECASE)
ENDED = {State.COMPLETED, State.FAILED, State.REJECTED, State.INPUT_REQUIRED}

handlers: Handlers[Any, Any] = Handlers()


@handlers.register(f"tells {SCRIPT}", max_attempts=1)
async def tells(task: Task, text: str = SCRIPT) -> str:
    await task.step(SCRIPT, str, text)
    await task.emit(text)
    task.checkpoint({SCRIPT: text})
    return text


@handlers.register(f"fails {SCRIPT}", max_attempts=1)
async def fails(text: str) -> None:
    raise type(SCRIPT, (Exception,), {})(text)


@handlers.register(f"asks {SCRIPT}")
async def asks(task: Task, text: str) -> str:
    return f"{text}: {await task.question(text)}"


async def plant(here: Site, redis: RedisSettings) -> None:
    manager = here.manager
    for verb in ("tells", "fails", "asks"):
        await manager.run_task(
            name=f"{verb} {SCRIPT}", kwargs={"text": SCRIPT}, task_id=verb, metadata={SCRIPT: SCRIPT}, context_id=SCRIPT
        )
    async with create_broker(settings_of(redis)) as broker, broker.working(handlers):
        for task_id in ("tells", "fails", "asks"):
            await _turn_has_ended(here, task_id)
    await manager.run_tasks([TaskSpec(text=SCRIPT, lane=SCRIPT)], batch="batch")
    await here.change("/batches/cancel", batch="batch", reason=SCRIPT)
    await manager.run_task(SCRIPT, task_id="hooked", webhook=f"https://example.org/{QUOTED}?{QUOTED}")
    await manager.pause_queue(SCRIPT, SCRIPT)
    await manager.schedules.upsert(SCRIPT, text=SCRIPT, cron="0 3 * * *", owner=SCRIPT)
    await manager.schedules.run(SCRIPT)
    await manager.schedules.pause(SCRIPT, SCRIPT)
    await here.store.register(Introduction("w-1", f"host{SCRIPT}", SCRIPT, 7, 0))
    await here.change("/workers/quiet", host=f"host{SCRIPT}", reason=SCRIPT)
    await here.store.note_activity(Activity(SCRIPT, SCRIPT, SCRIPT, SCRIPT, SCRIPT, SCRIPT))
    await push(redis, SCRIPT)
    await here.change("/tasks/bulk", verb="cancel", text=SCRIPT)
    await ended(here)


async def _turn_has_ended(here: Site, task_id: str) -> None:
    with anyio.fail_after(60):
        while True:
            if (await here.manager.get_task(task_id)).state in ENDED:
                return
            await anyio.sleep(0.01)


async def test_no_page_has_a_script_that_was_planted(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await plant(here, redis_settings)
        addresses = [route.path for route in PAGES]
        addresses += [f"/task?id={task_id}" for task_id in ("tells", "fails", "asks", "hooked", "batch.1", QUOTED)]
        addresses += [f"/handler?name={verb}%20{QUOTED}" for verb in ("tells", "fails", "asks")]
        addresses += [f"/submit?name=tells%20{QUOTED}", "/submit?task=tells", f"/lane?name={QUOTED}", "/batch?id=batch"]
        addresses += [f"/schedule?id={QUOTED}", f"/schedules/edit?id={QUOTED}", f"/stacks?worker={QUOTED}"]
        addresses += [f"/tasks/bulk?verb=cancel&text={QUOTED}", f"/events?task={QUOTED}", f"/activity?who={QUOTED}"]
        addresses += [f"/unreadable/entry?address={each.address}" for each in await here.store.unreadable(10)]
        shown = 0
        for address in addresses:
            text = (await here.browser.get(address, headers=HTML)).text
            assert not TAG.search(text), address
            shown += "&lt;script&gt;" in text
        assert shown > len(addresses) // 2, "the texts are on the pages, escaped"
