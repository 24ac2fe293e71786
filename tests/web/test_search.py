"""The list of tasks: its filters, the search by a text, and how it goes on."""

from __future__ import annotations

import re
from html import unescape

import pytest

from holdfast.client.task_spec import TaskSpec
from holdfast_config import RedisSettings
from holdfastd.documents.task_list import TASK_COLUMNS, USUAL_COLUMNS
from holdfastd.web.queue import found_tasks
from tests.lua.operations import introduction
from tests.web.handlers import working
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"
_TASK = re.compile(r'href="/task\?id=([^"]+)"')
_MORE = re.compile(r'class="more" href="([^"]+)"')


async def read(here: Site, address: str) -> tuple[list[str], str]:
    """The ids on a page, and the address of 'go on'."""
    answer = await here.browser.get(address, headers=HTML)
    assert answer.status_code == 200, answer.text
    more = _MORE.search(answer.text)
    return _TASK.findall(answer.text), unescape(more[1]) if more else ""


async def whole(here: Site, address: str) -> list[str]:
    """The ids on all pages."""
    ids = list[str]()
    while address:
        found, address = await read(here, address)
        ids += found
    return ids


async def test_a_text_is_found_and_the_address_holds_it(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task(name="mail.send", kwargs={"region": "Überlingen"}, task_id="one")
        await here.manager.run_task("plain", task_id="two")
        assert await whole(here, "/tasks?text=überling") == ["one"]
        assert await whole(here, "/tasks?text=mail.s") == ["one"]
        assert await whole(here, "/tasks?text=kwargs") == []
        shown = await here.page("/tasks?text=überling&state=submitted")
        assert 'name="text" value="überling"' in shown
        assert "1 of 2 tasks: these are all." in shown


async def test_a_list_is_newest_first_and_goes_on_where_its_page_ends(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x", task_id=f"t{n:03}") for n in range(120)])
        for query in ("", "text=x", "state=submitted&text=x"):
            assert await whole(here, f"/tasks?{query}") == [f"t{n:03}" for n in reversed(range(120))]


async def test_a_long_search_says_how_far_it_is_and_goes_on(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_tasks, "LONGEST", 0.0)  # one step a page
    async with site(redis_settings) as here:
        await here.manager.run_task("needle", task_id="needle")
        await here.manager.run_tasks([TaskSpec(text="hay") for _ in range(900)])
        first = await here.page("/tasks?text=needle")
        assert "0 found in 200 of about 901 tasks; searching." in first
        assert 'hx-trigger="load, click"' in first, "a script goes on by itself"
        _, address = await read(here, "/tasks?text=needle")
        assert "cursor=" in address
        waits = await here.page(f"{address}&round=6")
        assert "0 found in 400 of about 901 tasks." in waits
        assert 'hx-trigger="click"' in waits, "after a while it waits for the reader"
        for _ in range(3):
            _, address = await read(here, address)
        assert "1 of 901 tasks: these are all." in await here.page(address)
        assert await whole(here, "/tasks?text=needle") == ["needle"]


async def test_a_batch_and_a_worker_are_filters(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x") for _ in range(3)], batch="nightly")
        await here.manager.run_task("x", task_id="other")
        assert await whole(here, "/tasks?batch=nightly") == ["nightly.1", "nightly.2", "nightly.3"]
        assert await whole(here, "/tasks?owner=nobody") == []


@pytest.mark.parametrize(
    "query",
    [
        f"text={'x' * 201}",
        "batch=a%20b",
        "owner=%00",
        "owner=a%20b",
        "cursor=zzz",
        "cursor=" + "x" * 3000,
        "found=many",
        f"found={'0' * 20}{'9' * 5000}",
        "searched=-1",
        "searched=" + "9" * 50,
        "newer=soon",
        "lane=%00",
        f"name={'x' * 300}",
    ],
)
async def test_a_filter_that_cannot_be_is_a_sentence(redis_settings: RedisSettings, query: str) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.get(f"/tasks?{query}", headers=HTML)
        assert (answer.status_code, 'class="problem"' in answer.text) == (400, True), answer.text


async def test_no_field_of_the_filter_becomes_markup(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task(SCRIPT, task_id="t")
        for field in ("text", "lane", "name", "batch", "owner", "newer", "older", "state", "cursor", "found", "round"):
            answer = await here.browser.get("/tasks", params={field: SCRIPT}, headers=HTML)
            assert SCRIPT not in answer.text, field
        assert await whole(here, f"/tasks?text={SCRIPT}") == ["t"]


async def test_a_row_has_the_arguments_in_brief_without_secrets(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        kwargs = {"region": "asia", "api_key": "sk-hidden", "lines": [1, 2], "note": f"{SCRIPT} {'long ' * 2000}"}
        await here.manager.run_task(name="invoice.make", kwargs=kwargs, task_id="named")
        await here.manager.run_task("Summarize  the\nletter, token=abcd1234efgh " + "word " * 2000, task_id="plain")
        await here.manager.run_task(data={"customer": 41}, task_id="data")
        raw = (await here.browser.get("/tasks", headers=HTML)).text
        assert SCRIPT not in raw
        assert "sk-hidden" not in raw
        assert "abcd1234efgh" not in raw
        shown = unescape(raw)
        assert "region=asia, api_key=***, lines=[2], note=<script>" in shown
        assert "Summarize the letter, token=***" in shown
        assert "customer=41" in shown
        assert len(raw) < 30_000


async def test_a_row_says_how_long_its_task_has_waited_and_run(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task(name="broken", kwargs={"why": "x"}, task_id="t")
        await here.manager.wait("t", 60)
        shown = await here.page("/tasks")
        assert re.search(r'data-name="wait">\d+(\.\d)?m?s<', shown)
        assert re.search(r'data-name="duration">\d+(\.\d)?m?s<', shown)
        assert 'href="/task?id=t#error"' in shown, "one click from the list to the traceback"
        assert 'id="error"' in await here.page("/task?id=t")


async def test_the_address_has_the_columns_and_forms_and_links_keep_them(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x") for n in range(60)])
        heads = re.compile(r'<th scope="col"[^>]*>(\w+)</th>')
        assert heads.findall(await here.page("/tasks")) == [name.capitalize() for name in USUAL_COLUMNS]
        chosen = await here.page("/tasks?columns=task&columns=crashes&columns=lane&state=submitted")
        assert heads.findall(chosen) == ["Task", "Crashes", "Lane"]
        assert '<input type="hidden" name="columns" value="task,crashes,lane">' in chosen, "the form of the filter"
        assert "/tasks?state=failed&newer=1d&columns=task%2Ccrashes%2Clane" in chosen
        more = _MORE.search(chosen)
        assert more
        assert more[1].count("columns=") == 3
        assert 'href="/task?id=' in await here.page("/tasks?columns=lane"), "each row leads to its task"
        every = await here.page("/tasks?columns=" + ",".join(TASK_COLUMNS))
        numbers = {"wait", "duration", "runs", "turn", "attempts", "deliveries", "crashes"}
        assert {each.lower() for each in re.findall(r'<th scope="col"[^>]* class="number">(\w+)', every)} == numbers
        assert "no column 'colour'; the columns are task, handler" in await here.page("/tasks?columns=colour", 400)


async def test_usual_filters_are_links_and_may_have_several_states(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", task_id="waits")
        await here.manager.run_task("x", task_id="paused")
        await here.manager.pause_task("paused")
        links = dict(re.findall(r'<a href="(/tasks\?[^"]+)">([^<]+)</a>', await here.page("/tasks")))
        [person] = [link for link, title in links.items() if title == "Waits for a person"]
        assert await whole(here, person) == ["paused"]
        assert 'aria-current="true">Waits for a person' in await here.page(person)
        confirm = await here.page(f"/tasks/bulk?verb=cancel&{person.partition('?')[2]}")
        assert 'name="state" value="input-required,auth-required,suspended"' in confirm
        await here.change("/bulk/begin", verb="cancel", state="input-required,auth-required,suspended")
        assert (await here.manager.wait("paused", 60)).state == "canceled"
        assert (await here.manager.get_task("waits")).state == "submitted"


async def test_running_tasks_come_with_the_longest_first(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.register(introduction("w"))
        for number, name in enumerate(("b", "c", "a"), 1):
            await here.manager.run_task("x", task_id=name)
            [_] = (await here.store.pull("w", number, 1, [redis_settings.queue], [])).deliveries
            await until_later(here)
        assert await whole(here, "/tasks?state=working&longest=true") == ["b", "c", "a"]


async def until_later(here: Site) -> None:
    """Until the clock of the store has another millisecond."""
    began = await here.store.clock_ms()
    while await here.store.clock_ms() <= began:
        pass
