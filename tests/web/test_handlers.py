"""The pages of handlers: figures of each, and the kinds of their errors."""

from __future__ import annotations

import re
from html import unescape

import pytest

from holdfast.core.rollup import MINUTE, Figures, Series, fields_of
from holdfast_config import RedisSettings
from tests.web.handlers import publish, working
from tests.web.site import HTML, site
from tests.web.test_bulk import ended

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


async def test_each_kind_of_error_is_a_group_with_its_own_retry(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        for number in range(5):
            await here.manager.run_task(name="broken", kwargs={"why": f"{SCRIPT} {number}"}, task_id=f"b{number}")
        await here.manager.run_task(name="invoice", kwargs={}, task_id="misfit")
        for task_id in ("b0", "b1", "b2", "b3", "b4", "misfit"):
            await here.manager.wait(task_id, 60)
        for address in ("/handlers", "/handler?name=broken", "/dead"):
            raw = (await here.browser.get(address)).text
            assert SCRIPT not in raw
            groups = raw.split('id="errors"')[1].split("</table>")[0].replace("<wbr>", "")
            assert groups.count("ValueError</span>") == 1, raw
            assert '<span class="id">web.handlers:broken</span>' in groups
            assert len(re.findall(r">(b\d)</a>", groups)) == 1, "one example"
            assert 'class="spark bars"' not in groups, "all have failed in one step"
        kind = (await here.manager.get_task("b1")).error_kind
        assert (
            f'href="/tasks?error={kind}&amp;state=failed,rejected">5</a>' in (await here.browser.get("/handlers")).text
        )
        assert "b3" in await here.page(f"/tasks?error={kind}")
        assert "misfit" not in await here.page(f"/tasks?error={kind}")
        asked = f"/tasks/bulk?verb=retry&state=failed,rejected&error={kind}"
        assert asked.replace("&", "&amp;") in (await here.browser.get("/handlers")).text
        confirm = await here.page(asked)
        assert 'Retry failed or rejected tasks like <span class="bad">ValueError: ' in confirm
        assert "Retry 5 tasks" in confirm
        begun = await here.change("/bulk/begin", verb="retry", state="failed,rejected", error=kind)
        assert begun.status_code == 303
        assert (await ended(here)).changed == 5
        assert not (await here.manager.get_task("misfit")).retried_as


async def test_dead_letters_are_filtered_by_kind_and_chosen(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task(name="broken", kwargs={"why": "1"}, task_id="b1")
        await here.manager.run_task(name="broken", kwargs={"why": "2"}, task_id="b2")
        for task_id in ("b1", "b2"):
            await here.manager.wait(task_id, 60)
        kind = (await here.manager.get_task("b1")).error_kind
        shown = await here.page(f"/dead?error={kind}")
        assert ('value="b1"' in shown, 'value="b2"' in shown) == (True, True)
        assert "No dead letter matches" in await here.page("/dead?name=other")
        assert "12 hex digits" in await here.page("/dead?error=x", 400)
        chosen = await here.change("/tasks/chosen", verb="retry", task_id="b1", back="state=failed")
        assert "1 done, 0 refused" in chosen.text
        assert 'value="b1"' not in await here.page("/dead")


async def test_one_handler_has_numbers_charts_its_tasks_and_leads_to_its_form(redis_settings: RedisSettings) -> None:
    await publish(redis_settings)
    async with site(redis_settings) as here:
        assert "invoice" in await here.page("/handlers"), "also one that has not run"
        await here.manager.run_task(name="invoice", kwargs={}, task_id="t-of-invoice")
        await here.manager.run_task(name="open", kwargs={}, task_id="t-of-open")
        for period in ("1h", "6h", "24h", "7d", "30d"):
            shown = await here.page(f"/handler?name=invoice&since={period}")
            assert "t-of-invoice" in shown
            assert "t-of-open" not in shown
            assert '<a class="button primary" href="/submit?name=invoice">' in shown
            charts = [f"{what}</h2>" in shown for what in ("Failed", "Wait", "Run time")]
            assert all(charts), "without runs"
            assert (shown.count('class="chart"'), shown.count('class="label"')) == (1, 5)
        shown = await here.page("/submit?name=invoice")
        assert ("no worker runs" in shown, 'name="arg.region"' in shown) == (True, True)


async def test_handlers_stand_in_the_order_that_was_asked_for(redis_settings: RedisSettings) -> None:
    figures = {Series("mail", "often"): Figures(), Series("mail", "broken"): Figures()}
    figures[Series("mail", "often")].outcomes.update({"completed": 9})
    figures[Series("mail", "broken")].outcomes.update({"failed": 2})
    async with site(redis_settings) as here:
        minute = await here.store.clock_ms() // MINUTE - 1
        fields = [part for field in fields_of(figures).items() for part in field]
        await here.store.connection.command("HSET", f"{{{redis_settings.queue}}}:rollup:{minute}", *fields)
        pages = {order: await here.page(f"/handlers?sort={order}") for order in ("", "failed", "nonsense")}
    row = re.compile(r'<tr><th scope="row"><a href="/handler\?name=(\w+)"')
    assert {order: row.findall(one) for order, one in pages.items()} == {
        "": ["often", "broken"],
        "failed": ["broken", "often"],
        "nonsense": ["often", "broken"],
    }
    assert 'aria-sort="descending"><a href="?sort=failed">Failed ▾</a>' in pages["failed"]
    assert "100.0 %" in pages["failed"]


@pytest.mark.parametrize("name", ["", "none", "x" * 200, SCRIPT, "ü"])
async def test_a_handler_that_nobody_knows_has_no_page(redis_settings: RedisSettings, name: str) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.get("/handler", params={"name": name}, headers=HTML)
        assert (answer.status_code, SCRIPT in answer.text) == (404 if name else 200, False)
        assert (f"no handler {name}; known: none" in unescape(answer.text)) == bool(name)


async def test_a_name_that_no_handler_can_have_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert "1 to 200 characters" in await here.page("/handler?name=" + "x" * 201, 400)
