"""The page of webhooks: those that wait, without their secrets, and the changes of one."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


async def end_a_task(here: Site, queue: str, task_id: str = "t") -> None:
    """A task whose webhook waits."""
    await here.manager.run_task("x", task_id=task_id, webhook="https://example.org/told/sesame?token=hunter2")
    await here.store.register(Introduction(f"w-{task_id}", "host", "boot", 7, 0))
    (delivery,) = (await here.store.pull(f"w-{task_id}", 1, 1, [queue], [])).deliveries
    await here.store.pull(
        f"w-{task_id}", 2, 0, [queue], [Settlement(delivery.task_id, delivery.claim, Settle.COMPLETED)]
    )


async def test_a_webhook_that_waits_is_tried_now_and_given_up(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert "None waits" in await here.page("/webhooks")
        await end_a_task(here, redis_settings.queue)
        ((taken,), _) = await here.store.take_notices(10, 3_600_000)
        shown = await here.page("/webhooks")
        assert "example.org" in shown
        assert "hunter2" not in shown
        assert "in 60 min" in shown or "in 1 h" in shown
        assert "retrying" not in shown
        await here.store.notice_later(taken.name, 3_600_000, "the receiver answered 503 password=hunter2")
        shown = await here.page("/webhooks")
        assert '<span class="state tone-warn">retrying, 1 try</span>' in shown
        assert "the receiver answered 503" in shown
        assert "hunter2" not in shown
        assert (await here.change("/webhooks/retry", webhook=taken.name)).headers["location"] == "/webhooks"
        assert [each.name for each in (await here.store.take_notices(10, 1))[0]] == [taken.name]
        assert (await here.change("/webhooks/remove", webhook=taken.name)).status_code == 303
        (dropped, *_) = await here.store.events_before("", 1)
        assert (dropped.event, "given up by token" in dropped.detail) == ("webhook-dropped", True)
        shown = await here.page("/webhooks")
        assert "Given up" in shown
        assert "given up by token" in shown
        assert "hunter2" not in shown
        assert (await here.change("/webhooks/retry", webhook=taken.name)).status_code == 303
        assert [each.name for each in (await here.store.take_notices(10, 1))[0]] == [taken.name]
        assert "Try again" not in await here.page("/webhooks")
        for verb, why in (("retry", "none of this name was given up"), ("remove", "does not wait")):
            answer = await here.change(f"/webhooks/{verb}", webhook=SCRIPT)
            assert (answer.status_code, why in answer.text, SCRIPT in answer.text) == (404, True, False)
        assert (await here.browser.get("/webhooks?after=x", headers=HTML)).status_code == 400
