"""People at a browser: keyboard, changes, phones, dark and light, no scripts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from holdfastd.web.views.menu_and_strip import ENTRIES
from tests.browser.conftest import AXE, opened

PATHS = [entry.path for entry in ENTRIES]
MORE = ["/task?id=task-02", "/schedule?id=nightly", "/login", "/checks"]
WIDEST = """Array.from(document.querySelectorAll("main *, header *"))
    .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth)
    .slice(-5).map(each => each.outerHTML.slice(0, 120))"""
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


def test_a_walk_by_keyboard_that_ends_with_changes(chromium: Any, address: str) -> None:
    with opened(chromium, address) as seen:
        page = seen.page
        page.keyboard.press("g")
        page.keyboard.press("t")
        page.wait_for_url("**/tasks")
        page.select_option("select[name=state]", "delayed")
        page.click("form.filter button")
        page.wait_for_url("**state=delayed**")
        assert "task-01" in page.inner_text("main")
        assert "task-00" not in page.inner_text("main")
        page.keyboard.press("/")
        page.keyboard.type("task-00")
        page.keyboard.press("Enter")
        page.wait_for_url("**/task?id=task-00")
        page.click("summary:text-is('Cancel…')")
        page.click("button:text-is('Cancel the task')")
        page.wait_for_function("document.querySelector('main').innerText.includes('canceled')")
        page.keyboard.press("g")
        page.keyboard.press("l")
        page.wait_for_url("**/lanes")
        page.wait_for_selector("h1:text-is('Lanes')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits(chromium: Any, address: str, scheme: str) -> None:
    findings: list[str] = []
    with opened(chromium, address, color_scheme=scheme) as seen:
        for path in [*PATHS, *MORE]:
            seen.page.goto(path)
            if AXE.exists():
                seen.page.evaluate(AXE.read_text())
                result = seen.page.evaluate("axe.run()")
                findings += [
                    f"{path}: {found['id']}: {found['nodes'][0]['html'][:200]}: {found['nodes'][0]['failureSummary']}"
                    for found in result["violations"]
                    if found["impact"] in {"serious", "critical"}
                ]
    assert not findings, "\n".join(findings)
    if not AXE.exists():
        pytest.skip(f"axe-core could not be had: {AXE}")


def test_no_page_is_wider_than_a_phone(chromium: Any, address: str) -> None:
    wide: list[str] = []
    with opened(chromium, address, **PHONE) as seen:
        for path in [*PATHS, *MORE, "/task?id=long-" + "0123456789" * 9]:
            seen.page.goto(path)
            if seen.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append(f"{path}: {seen.page.evaluate(WIDEST)}")
    assert not wide


def test_pages_are_read_and_changed_without_scripts(chromium: Any, address: str) -> None:
    with opened(chromium, address, java_script_enabled=False) as seen:
        page = seen.page
        for entry in ENTRIES:
            page.goto(entry.path)
            assert entry.title in page.inner_text("h1")
        page.goto("/task?id=task-04")
        page.click("summary:text-is('Cancel…')")
        page.click("button:text-is('Cancel the task')")
        assert "canceled" in page.inner_text("main")


def test_a_button_keeps_the_focus_when_its_part_of_the_page_comes_again(chromium: Any, address: str) -> None:
    """The button of the same lane, even if the order of the rows has changed."""
    with opened(chromium, address) as seen:
        page = seen.page
        page.goto("/lanes")
        button = "tr:has-text('a-lane-with-a-long-name') button"
        page.focus(button)
        page.evaluate("""() => {
            document.querySelector('#live').dataset.old = "1"
            document.body.addEventListener("htmx:beforeSwap", event => {
                const page = new DOMParser().parseFromString(event.detail.serverResponse, "text/html")
                const rows = page.querySelector("#live tbody")
                rows.prepend(...[...rows.rows].reverse())
                event.detail.serverResponse = page.documentElement.outerHTML
            })
        }""")
        page.wait_for_selector("#live:not([data-old])")
        assert page.evaluate("document.activeElement.closest('tr').innerText.replaceAll('\\n', '')").startswith(
            "a-lane-with-a-long-name"
        )
        assert page.evaluate("document.activeElement.innerText") == "Resume"


def test_the_next_fires_are_told_while_a_rule_is_typed(chromium: Any, address: str) -> None:
    with opened(chromium, address) as seen:
        page = seen.page
        page.goto("/schedules/new")
        page.fill("textarea[name=rule]", "30 4 * * *")
        page.wait_for_selector("#fires li:has-text('04:30:00')")
        assert "At 04:30 every day" in page.inner_text("#fires")
        page.fill("textarea[name=rule]", "30 5 * * *")
        page.wait_for_selector("#fires li:has-text('05:30:00')")


def test_the_next_fires_are_told_without_scripts(chromium: Any, address: str) -> None:
    with opened(chromium, address, java_script_enabled=False) as seen:
        page = seen.page
        page.goto("/schedules/new")
        page.fill("textarea[name=rule]", "30 4 * * *")
        page.click("button:text-is('Show the next fires')")
        assert "04:30:00" in page.inner_text("#fires")
        assert page.input_value("textarea[name=rule]") == "30 4 * * *"


LONE = {
    "title": "Times",
    "unit": "s",
    "tasks": "/tasks?",
    "names": ["run"],
    "colours": [1],
    "window": None,
    "data": [[60 * n for n in range(60)], [None] * 30 + [1.0] + [None] * 29],
}


def test_a_lone_value_of_a_chart_is_drawn(chromium: Any, address: str) -> None:
    with opened(chromium, address, **PHONE) as seen:
        page = seen.page
        page.goto("/")
        drawn = page.evaluate(
            """chart => {
                document.body.className = "alone"
                document.body.innerHTML = '<figure></figure>'
                const figure = document.querySelector("figure")
                figure.dataset.chart = JSON.stringify(chart)
                document.dispatchEvent(new Event("htmx:afterSwap"))
                return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
                    const colour = getComputedStyle(document.documentElement).getPropertyValue("--line1").trim()
                    const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16))
                    const canvas = figure.querySelector("canvas")
                    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
                    let found = 0
                    for (let at = 0; at < data.length; at += 4)
                        if ([red, green, blue, 255].every((part, index) => data[at + index] === part)) found++
                    done(found)
                })))
            }""",
            LONE,
        )
        assert drawn > 4


@pytest.mark.parametrize(
    ("zone", "told"),
    [("UTC", "9 Mar, 21:30:05"), ("Europe/Berlin", "9 Mar, 22:30:05"), ("Asia/Kolkata", "10 Mar, 03:00:05")],
)
def test_a_time_is_the_readers_with_utc_on_hover(chromium: Any, address: str, zone: str, told: str) -> None:
    with opened(chromium, address, timezone_id=zone, locale="en-GB") as seen:
        page = seen.page
        page.goto("/")
        page.evaluate("""() => {
            const time = (kind, text) => `<time datetime="2026-03-09T21:30:05.250+00:00" ${kind}>${text}</time>`
            document.body.innerHTML = time('class="exact"', "2026-03-09 21:30:05 UTC") + time("", "4 min ago")
            document.dispatchEvent(new Event("htmx:afterSwap"))
        }""")
        exact, since = page.query_selector_all("time")
        assert exact.text_content() == told
        assert exact.get_attribute("title") == "2026-03-09 21:30:05 UTC"
        assert since.get_attribute("title") == f"{told} · 2026-03-09 21:30:05 UTC"
        assert re.fullmatch(r"(in )?\d+ d( ago)?", since.text_content() or "")


def test_an_open_page_says_that_the_store_is_away_and_then_that_it_is_back(chromium: Any, address: str) -> None:
    with opened(chromium, address) as seen:
        page = seen.page
        page.goto("/lanes")
        page.evaluate("""() => document.body.dispatchEvent(new CustomEvent("htmx:responseError",
            {bubbles: true, detail: {xhr: {status: 503}}}))""")
        assert "does not answer" in page.inner_text("#strip")
        page.wait_for_selector("#strip:not(:has-text('does not answer'))")


def test_chosen_tasks_are_canceled_only_after_a_question(chromium: Any, address: str) -> None:
    questions: list[str] = []
    with opened(chromium, address) as seen:
        page = seen.page
        page.on("dialog", lambda dialog: (questions.append(dialog.message), dialog.dismiss()))
        page.goto("/tasks")
        page.check("input[name=task_id] >> nth=0")
        assert page.inner_text("[data-selected]") == "1 selected"
        page.check("thead th.choose input")
        number = page.locator("tbody input[name=task_id]:checked").count()
        assert number == page.locator("tbody input[name=task_id]").count(), (
            "the box in the head ticks all that are shown"
        )
        assert page.inner_text("[data-selected]") == f"{number} selected"
        page.click("button[value=cancel]")
        assert questions == ["Cancel the selected tasks?"]
        assert page.url.endswith("/tasks")


def test_filters_fold_on_a_phone_and_columns_are_chosen_without_scripts(chromium: Any, address: str) -> None:
    with opened(chromium, address, java_script_enabled=False, **PHONE) as seen:
        page = seen.page
        page.goto("/tasks")
        assert not page.is_visible("form.filter")
        page.focus("#fold")
        page.keyboard.press("Space")
        assert page.is_visible("form.filter select[name=state]")
        assert page.is_visible("text=hello 58"), "a row has the arguments of its task"
        page.click("details.columns > summary")
        page.uncheck("details.columns input[value=arguments]")
        page.click("details.columns button")
        assert "columns=handler" in page.url
        assert not page.is_visible("text=hello 58")
    with opened(chromium, address, java_script_enabled=False) as seen:
        seen.page.goto("/tasks")
        assert seen.page.is_visible("form.filter")
        assert not seen.page.is_visible("label[for=fold]")
