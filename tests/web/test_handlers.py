"""The pages of handlers: figures of each, and errors grouped by type and place."""

from __future__ import annotations

import re
from html import unescape

import pytest

from holdfast.core.outcomes import Failure, failure_document
from holdfast_config import RedisSettings
from holdfastd.web.pages.report_pages import place_of
from tests.web.handlers import publish, working
from tests.web.site import HTML, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"
TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/holdfast/handler/run.py", line 10, in run
    await call()
  File "/srv/shop/billing/invoices.py", line 42, in invoice
    total(lines)
  File "/srv/shop/billing/sums.py", line 7, in total
    decimal.Decimal(x)
  File "/usr/lib/python3.11/site-packages/decimal.py", line 900, in Decimal
ValueError: no
"""


def test_the_place_of_an_error_is_the_innermost_line_of_the_users_code() -> None:
    assert place_of(TRACEBACK) == "shop/billing/sums.py:7"
    assert place_of('  File "/usr/lib/python3.11/json/decoder.py", line 3, in x') == "python3.11/json/decoder.py:3"
    assert place_of("") == ""
    assert place_of("no frames") == ""


async def test_errors_are_grouped_by_type_and_place_with_examples(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        for number in range(5):
            await here.manager.run_task(name="broken", kwargs={"why": f"{SCRIPT} {number}"}, task_id=f"b{number}")
        await here.manager.run_task(name="invoice", kwargs={}, task_id="misfit")
        for task_id in ("b0", "b1", "b2", "b3", "b4", "misfit"):
            await here.manager.wait(task_id, 60)
        for address in ("/handlers", "/handler?name=broken"):
            raw = (await here.browser.get(address)).text
            assert SCRIPT not in raw
            assert raw.count("ValueError</span>") == 1, raw
            place = re.search(r'<td class="id">(tests/web/handlers\.py:\d+)</td>', raw)
            assert place, raw
            assert 'href="/tasks?state=failed&amp;name=broken">5</a>' in raw
            assert len(set(re.findall(r">(b\d)</a>", raw.split("<h2>Latest tasks</h2>")[0]))) == 3, "three examples"
        assert "Of all 6 tasks that failed" in await here.page("/handlers")
        assert "Of all 5 tasks that failed" in await here.page("/handler?name=broken")
        assert "Of all 0 tasks that failed" in await here.page("/handler?name=asks")


async def test_results_that_are_large_are_not_read_for_errors(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        small = failure_document("failed", Failure("ValueError", "x", ""))
        assert await here.store.small_results([], 10) == {}
        await here.manager.run_task("x", task_id="t")
        assert await here.store.small_results(["t", "none"], len(small)) == {}


async def test_one_handler_has_charts_its_tasks_and_its_form(redis_settings: RedisSettings) -> None:
    await publish(redis_settings)
    async with site(redis_settings) as here:
        assert "invoice" in await here.page("/handlers"), "also one that has not run"
        await here.manager.run_task(name="invoice", kwargs={}, task_id="t-of-invoice")
        await here.manager.run_task(name="open", kwargs={}, task_id="t-of-open")
        for period in ("1h", "6h", "24h", "7d", "30d"):
            shown = await here.page(f"/handler?name=invoice&since={period}")
            assert "t-of-invoice" in shown
            assert "t-of-open" not in shown
            assert 'name="arg.region"' in shown
            assert shown.count('class="chart"') == 2
        assert "no worker runs" in shown


@pytest.mark.parametrize("name", ["", "none", "x" * 200, SCRIPT, "ü"])
async def test_a_handler_that_nobody_knows_has_no_page(redis_settings: RedisSettings, name: str) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.get("/handler", params={"name": name}, headers=HTML)
        assert (answer.status_code, SCRIPT in answer.text) == (404 if name else 200, False)
        assert (f"no handler {name}; known: none" in unescape(answer.text)) == bool(name)


async def test_a_name_that_no_handler_can_have_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert "1 to 200 characters" in await here.page("/handler?name=" + "x" * 201, 404)
