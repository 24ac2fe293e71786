"""Secrets in every field: no page, no answer of the API and no stream of events has one as it was planted."""

from __future__ import annotations

import pytest

from holdfast_config import RedisSettings
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.application import PAGES, STREAMS
from tests.web.planting import Planting, api_addresses, page_addresses, plant, supervise
from tests.web.site import HTML, site
from tests.web.streams import served
from tests.web.test_webhooks_page import end_a_task

pytestmark = pytest.mark.anyio

SECRET = "hunter2"
GIVEN = Planting(
    "plain",
    f"connect with password={SECRET} now",
    {"password": SECRET, "nested": [{"api_key": SECRET, "access_token": {"deep": SECRET}}]},
    f"https://example.org/{SECRET}?token={SECRET}",
)


async def test_no_page_and_no_answer_of_the_api_has_a_secret(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervise(monkeypatch, GIVEN)
    async with site(redis_settings) as here:
        await plant(here, redis_settings, GIVEN)
        await end_a_task(here, redis_settings.queue)  # its webhook waits
        pages, answers = await page_addresses(here, GIVEN), list(await api_addresses(here, GIVEN))
        leaks, hidden, read = set[str](), set[str](), list[str]()
        for address in (*pages, *answers):
            answer = await here.browser.get(address, headers={} if address in answers else HTML)
            assert answer.status_code < 500, address
            leaks |= {address} if SECRET in answer.text else set()
            hidden |= {address.partition("?")[0]} if "***" in answer.text else set()
            read += [address.partition("?")[0]] if answer.status_code == 200 else []
        assert not leaks
        assert hidden >= {
            "/task",
            "/tasks",
            "/schedule",
            "/events",
            "/activity",
            "/bulk",
            "/lanes",
            "/unreadable",
            "/unreadable/entry",
        }
        assert {route.path for route in PAGES} <= {*read}, "each page was shown"
        assert len({*read} & {*answers}) >= sum(operation.method == "GET" for operation in OPERATIONS)


async def test_no_stream_of_events_has_a_secret(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, served(redis_settings) as there:
        await plant(here, redis_settings, GIVEN)
        for route in STREAMS:
            async with there.stream(f"{route.path}?after=0-0") as stream:
                assert stream.status == 200
                await there.manager.run_task("x", task_id=route.path.rpartition("/")[2])
                while (found := await stream.message()) is not None:
                    assert SECRET not in str(found)
                    if found.event == "changed" or "stream" in str(found.data):
                        break
                assert found is not None
