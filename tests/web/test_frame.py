"""What stands around every page: a line that says if anything is wrong, and numbers of what waits for a person."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import holdfastd.web
from holdfast import TaskSpec
from holdfast_config import RedisSettings
from holdfastd.doctor.finding import Finding, Level
from holdfastd.web.pages.report_pages import PERIODS
from holdfastd.web.queue.redaction import Redaction
from holdfastd.web.rendering import environment
from holdfastd.web.views.menu_and_strip import ENTRIES, Frame, Wrong, in_order
from tests.lua.operations import introduction
from tests.web.site import site

pytestmark = pytest.mark.anyio
STATIC = Path(holdfastd.web.__file__).parent / "static"


def finding(look: str) -> Finding:
    return Finding(Level.WARNING, "queue", look, "it is so", "do this")


LOOKS = {  # each look of the doctor at a queue whose remedy is a page
    "dead letters": "/dead",
    "unreadable entries": "/unreadable",
    "pause of lane mail": "/lane?name=mail",
    "workers of lane a b": "/lane?name=a+b",
    "handler send in lane mail": "/lane?name=mail",
    "a default handler in lane mail": "/lane?name=mail",
    "deaths": "/workers",
    "quiet hosts": "/workers",
    "quiet host web-1": "/workers",
    "halted hosts": "/workers",
    "halted host web-1": "/workers",
    "schedule nightly": "/schedule?id=nightly",
    "waiting tasks": "/tasks?state=submitted",
    "workers of all hosts": "/workers",
    "stewards": "/workers",
    "lane Orders-EU": "/lane?name=Orders-EU",
    "clocks": "/workers",
    "versions": "/workers",
}


@pytest.mark.parametrize("look", LOOKS)
async def test_a_finding_leads_to_its_page(look: str) -> None:
    wrong = Wrong.of(finding(look))
    assert (wrong.place, bool(wrong.look_at)) == (LOOKS[look], True)


async def test_a_finding_without_a_page_of_its_own_leads_to_its_check() -> None:
    wrong = Wrong.of(replace(finding("writes to disk"), subject="redis"))
    assert (wrong.title, wrong.found, wrong.fix) == ("Redis: writes to disk", "it is so", "do this")
    assert (wrong.place, wrong.look_at) == ("/checks#redis-writes-to-disk", "What to do")


@pytest.mark.parametrize(
    ("look", "path", "fields"),
    [
        ("pause of lane mail", "/lanes/resume", {"lane": "mail"}),
        ("quiet hosts", "/hosts/resume", {}),
        ("quiet host web-1", "/hosts/resume", {"host": "web-1"}),
    ],
)
async def test_a_finding_that_an_act_mends_has_its_button(look: str, path: str, fields: dict[str, str]) -> None:
    action = Wrong.of(finding(look)).action
    assert action is not None
    assert (action.path, action.fields) == (path, fields)


def test_the_worst_stands_first_and_the_others_are_counted() -> None:
    looks = ["slow log", "persistence", "clocks", "dead letters", "workers of lane mail"]
    frame = Frame(in_order(Wrong.of(finding(look)) for look in looks))
    assert [each.title for each in frame.wrong] == [
        "Nobody serves lane mail",
        "Dead letters",
        "Hosts differ",
        "Queue: persistence",
        "Queue: slow log",
    ]
    assert (frame.others, frame.level) == (4, "warning")
    spoilt = replace(finding("persistence"), level=Level.PROBLEM)
    assert in_order([*frame.wrong, Wrong.of(spoilt)])[0].title == "Queue: persistence", "a problem before all warnings"
    assert (Frame().first, Frame().others, Frame().level) == (None, 0, "fine")


@pytest.mark.parametrize(
    ("path", "state", "title"),
    [
        ("/", None, "Overview"),
        ("/tasks", None, "Tasks"),
        ("/tasks", "failed", "Tasks"),
        ("/tasks", "input-required", "Questions"),
        ("/tasks/bulk", None, "Tasks"),
        ("/task", None, "Tasks"),
        ("/schedules/new", None, "Schedules"),
        ("/unreadable/entry", None, "Unreadable"),
        ("/stacks", None, "Workers"),
    ],
)
def test_one_entry_of_the_menu_covers_a_page(path: str, state: str | None, title: str) -> None:
    query = {} if state is None else {"state": state}
    assert [entry.title for entry in ENTRIES if entry.covers(path, query)] == [title]


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("/", []),
        ("/tasks", []),
        ("/task", ["Tasks"]),
        ("/lane", ["Lanes"]),
        ("/submit", ["Handlers"]),
        ("/checks", ["Overview"]),
    ],
)
def test_a_page_below_a_list_has_the_list_above_it(path: str, above: list[str]) -> None:
    assert [entry.title for entry in ENTRIES if entry.is_above(path, {})] == above


def strip(page: str) -> str:
    found = re.search(r'<div class="strip.*?</div>', page, re.DOTALL)
    assert found
    return found[0]


def numbers(page: str) -> dict[str, str]:
    return dict(re.findall(r'id="waits-([a-z]+)">(\d*)</span>', page))


async def test_every_page_says_what_is_wrong_and_has_the_button_that_mends_it(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.register(introduction("w"))
        shown = await here.page("/activity")
        assert numbers(shown) == {"lanes": "", "questions": "", "dead": "", "unreadable": ""}
        await here.manager.run_task("hello", lane="mail")
        await here.change("/lanes/pause", lane="mail", reason="the provider is down")
        shown = await here.page("/activity")
        assert numbers(shown)["lanes"] == "1"
        told = strip(shown)
        assert "Lane mail is paused" in told
        assert "the provider is down" in told
        assert 'action="/lanes/resume"' in told
        await here.change("/lanes/resume", lane="mail")
        assert "is paused" not in strip(await here.page("/activity"))


@pytest.mark.parametrize(("path", "status"), [("/nothing", 404), ("/task?id=nothing", 404), ("/batch?id=a%00b", 400)])
async def test_an_error_is_a_page_with_a_menu_a_line_and_a_way_on(
    redis_settings: RedisSettings, path: str, status: int
) -> None:
    async with site(redis_settings) as here:
        await here.store.register(introduction("w"))
        await here.manager.pause_queue("mail", "the provider is down")
        shown = await here.page(path, status)
        assert "Lane mail is paused" in strip(shown)
        assert numbers(shown)["lanes"] == "1"
        assert re.search(r'<a class="button( primary)?" href="/tasks">Tasks</a>', shown)


async def test_the_page_of_checks_has_each_finding_at_its_place(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        shown = await here.page("/checks")
        overview = await here.page("/")
    anchors = set(re.findall(r'href="/checks#([^"]+)"', overview))
    places = set(re.findall(r'id="([a-z0-9-]+)">', shown))
    assert anchors <= places
    assert {"redis-version", "redis-persistence", "queue-dead-letters", "redis-rights"} <= places


async def test_the_overview_has_five_numbers_each_with_its_change(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        shown = await here.page("/")
        assert 'class="trend"' not in shown, "nothing ran in the hour before"
    tiles = re.findall(r'<li><a href="([^"]+)"><span class="label">', shown)
    assert tiles == ["/tasks?state=submitted", "/tasks?state=working", "/handlers?", "/tasks?state=failed", "/lanes"]


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((3.0, 2.0), "▲ 50 % vs hour before"),
        ((1.0, 2.0), "▼ 50 % vs hour before"),
        ((2.0, 2.0), ""),
        ((20.0, 2.0), "▲ over 10 times the hour before"),
        ((2.0, 0.0), ""),
        ((2.0, None), ""),
    ],
)
def test_a_change_of_a_number_says_against_what(pair: tuple[float, float | None], words: str) -> None:
    trend = environment(Redaction(())).get_template("macros.html").module.trend(pair, PERIODS[0])
    assert re.sub("<.*?>", "", str(trend)) == words


def test_the_overview_counts_what_it_lists() -> None:
    wrong = Wrong.of(finding("clocks")), Wrong.of(replace(finding("workers of lane a"), level=Level.PROBLEM))
    assert Frame(wrong).summary == "1 problem, 1 warning"
    assert Frame().summary == ""


async def test_each_page_has_at_most_one_primary_button(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t-1", lane="mail")
        await here.manager.pause_queue("mail", "the provider is down")
        await here.manager.run_tasks([TaskSpec(text="one")], batch="import-7")
        await here.manager.schedules.upsert("nightly", every="1h", text="report")
        await here.manager.schedules.pause("nightly", "the year is being closed")
        more = ["/task?id=t-1", "/lane?name=mail", "/batch?id=import-7", "/schedule?id=nightly", "/schedules/new"]
        more += ["/handler?name=", "/submit?name=", "/nothing", "/login", "/tasks/bulk?verb=retry&state=failed"]
        for path in [*(entry.path for entry in ENTRIES), *more]:
            shown = (await here.browser.get(path, headers={"accept": "text/html"})).text
            primary = re.findall(r'<(?:button|a)[^>]*class="(?:button )?primary"[^>]*>([^<]*)', shown)
            assert len(primary) <= 1, (path, primary)


def test_each_part_of_the_look_is_defined_once() -> None:
    """Two pages that give one class two looks spoil each other's."""
    css = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", (STATIC / "pages.css").read_text())
    defined = Counter(re.findall(r"(?:^|[};])\s*(\.[\w-]+) \{", css))
    assert [name for name, times in defined.items() if times > 1] == []
