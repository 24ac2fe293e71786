"""Script tags in every field that a page shows: no page has one as it was planted."""

from __future__ import annotations

import re

import pytest

from holdfast_config import RedisSettings
from tests.web.planting import Planting, page_addresses, plant, supervise
from tests.web.site import HTML, site
from tests.web.test_webhooks_page import end_a_task

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"
TAG = re.compile(r"<script(?! src=\"/static/[\w.]+\" defer></script>)", re.IGNORECASE)
SHOWING = {"/", "/tasks", "/task", "/lanes", "/lane", "/handlers", "/handler", "/schedules", "/schedule", "/workers"}
SHOWING |= {"/unreadable", "/unreadable/entry", "/bulk", "/activity", "/events", "/stacks"}
GIVEN = Planting(SCRIPT, SCRIPT, {SCRIPT: SCRIPT}, "https://example.org/%3Cscript%3E?%3Cscript%3E")


async def test_no_page_has_a_script_that_was_planted(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervise(monkeypatch, GIVEN)
    async with site(redis_settings) as here:
        await plant(here, redis_settings, GIVEN)
        await end_a_task(here, redis_settings.queue)  # its webhook waits
        escaped = set[str]()
        for address in await page_addresses(here, GIVEN):
            text = (await here.browser.get(address, headers=HTML)).text
            assert not TAG.search(text), address
            if "&lt;script&gt;" in text:
                escaped.add(address.partition("?")[0])
        assert escaped >= SHOWING
