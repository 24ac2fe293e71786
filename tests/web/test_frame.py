"""What stands around every page: a line that says if anything is wrong, and numbers of what waits for a person."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from holdfast_config import RedisSettings
from holdfastd.doctor.finding import Finding, Level
from holdfastd.web.views.menu_and_strip import ENTRIES, Frame, Wrong, in_order
from tests.lua.operations import introduction
from tests.web.site import site

pytestmark = pytest.mark.anyio


def finding(look: str) -> Finding:
    return Finding(Level.WARNING, "queue", look, "it is so", "do this")


LOOKS = {  # each look of the doctor at a queue whose remedy is a page
    "dead letters": "/dead",
    "unreadable entries": "/unreadable",
    "pause of lane mail": "/lane?name=mail",
    "workers of lane a b": "/lane?name=a+b",
    "handler send in lane mail": "/lane?name=mail",
    "a default handler in lane mail": "/lane?name=mail",
    "quiet hosts": "/workers",
    "halted hosts": "/workers",
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


async def test_a_finding_without_a_page_keeps_its_words() -> None:
    wrong = Wrong.of(finding("memory of the Redis"))
    assert (wrong.title, wrong.found, wrong.fix, wrong.place) == ("Memory of the Redis", "it is so", "do this", "")


def test_the_worst_stands_first_and_the_others_are_counted() -> None:
    looks = ["slow log", "clocks", "dead letters", "workers of lane mail"]
    frame = Frame(in_order(Wrong.of(finding(look)) for look in looks))
    assert [each.title for each in frame.wrong] == [
        "Nobody serves lane mail",
        "Dead letters",
        "Hosts differ",
        "Slow log",
    ]
    assert (frame.others, frame.level) == (3, "warning")
    spoilt = replace(finding("persistence"), level=Level.PROBLEM)
    assert in_order([*frame.wrong, Wrong.of(spoilt)])[0].title == "Persistence", "a problem before all warnings"
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
