"""The screen of `supervisor top`: what keys change, what fits, and how rates are found; no terminal, no store."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pytest
from rich.console import Console

from holdfast.core.counts import Counts
from holdfast.core.lanes import Lanes, LaneState
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.rollup import MINUTE, Figures, Histogram, Rollup, Series, bucketed
from holdfast.core.task_states import State
from holdfast.core.worker_records import WorkerRecord
from holdfastd.cli.top.draw import Told, aligned, drawn
from holdfastd.cli.top.look import LaneFlow, Look, Rates
from holdfastd.cli.top.panes import PANES, PaneRow, shown_rows
from holdfastd.cli.top.screen_state import RowOrder, Screen, pressed
from holdfastd.cli.top.top import names_of
from holdfastd.control.socket_protocol import Deaths, DeathStatus, StoreStatus, SupervisorStatus
from tests.why.test_story import TASK

NOW = 100 * MINUTE + 30_000
HOSTILE = "[red]a\x1b[31m\n\u202eb" * 20


BEGIN = Screen(rows=5, columns=3)


def after(*keys: str, screen: Screen = BEGIN) -> Screen:
    return reduce(pressed, keys, screen)


def test_a_pane_is_chosen_by_its_number_or_by_the_neighbour() -> None:
    assert after("3").pane == "handlers"
    assert after("tab", "tab").pane == "handlers"
    assert after("left").pane == "schedules"


def test_the_selection_stays_within_the_rows() -> None:
    assert after("up").selected == 0
    assert after("down", "j").selected == 2
    assert after("page down").selected == 4
    assert after("page down", "3").selected == 0


def test_sorting_goes_through_the_columns_and_back_to_the_order_of_the_pane() -> None:
    assert [after(*["s"] * times).sort for times in range(5)] == [None, 0, 1, 2, None]
    assert after("r").is_reversed


def test_a_filter_is_typed_and_taken_back() -> None:
    screen = after("/", "m", "a", "x", "backspace", "q")
    assert (screen.typed, screen.is_over) == ("maq", False)
    assert after("enter", screen=screen).filter == "maq"
    assert after("escape", screen=screen).filter == ""
    assert after("enter", "escape", screen=screen).filter == ""


@pytest.mark.parametrize(
    ("key", "order"), [("Q", RowOrder.QUIET), ("U", RowOrder.RESUME), ("R", RowOrder.RETRY), ("C", RowOrder.CANCEL)]
)
def test_an_order_is_carried_out_only_after_y(key: str, order: RowOrder) -> None:
    assert after(key).confirmed is None
    assert after(key, "y").confirmed is order
    for other in ("n", "escape", "enter", "q"):
        assert (after(key, other).confirmed, after(key, other).asks, after(key, other).is_over) == (None, None, False)


def test_any_key_leaves_a_history() -> None:
    assert after("enter").shows_why
    assert not after("enter", "q").shows_why
    assert not after("enter", "q").is_over
    assert after("q").is_over


def test_keys_are_read_from_what_a_terminal_sends() -> None:
    typed = "a\x1b[A\x1b[B\x1bOC\x1b[5~\r\t \x7f\x03\x1b[99zq\x1b"
    names = ["a", "up", "down", "right", "page up", "enter", "tab", "space", "backspace", "ctrl-c", "q", "escape"]
    assert names_of(typed) == names


def lane(name: str, waiting: int = 0) -> LaneState:
    return LaneState(name, entries=waiting, held=0, running=1, oldest_ms=NOW - 5000, workers=1)


def worker(name: str, slot: int) -> WorkerRecord:
    return WorkerRecord(f"i{slot}", "live", name, 100 + slot, slot, (f"task {name}",), 10)


def busy_look(name: str = "mail") -> Look:
    figures = Figures(Counter({"completed": 5}))
    return Look(
        now_ms=NOW,
        lanes=Lanes(NOW, (lane(name, 7),), {}),
        workers=[worker(name, slot) for slot in range(50)],
        minutes={100 * MINUTE: {Series(name, name): figures}},
        running={name: replace(TASK, task_id=name, name=name, lane=name, progress=name)},
        dead=[replace(TASK, task_id=f"d{name}", name=name, lane=name, reason=name, dead=True)],
        quiet=[Quiet("*", NOW, name, name)],
        trouble=name,
        service=service(name),
    )


def service(name: str) -> SupervisorStatus:
    death = DeathStatus(1.0, name, 1, 7, name, cause=name, detail=name, running=[name])
    store = StoreStatus(name, name)
    deaths = Deaths(1, [death], {})
    return SupervisorStatus("1", 1, name, 1.0, 1, 1, name, name, 1, False, store, [], deaths)


def drawing(screen: Screen, look: Look, rows: Sequence[PaneRow], width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), record=True)
    told = Told(why=look.trouble, notice=look.trouble)
    console.print(drawn(screen, look, rows, width, height, told))
    return console.export_text().splitlines()


def screenshot(look: Look, pane: str, width: int, height: int) -> list[str]:
    rows = shown_rows(PANES[pane], look, "", None, is_reversed=False)
    return drawing(Screen(pane=pane), look, rows, width, height)


@pytest.mark.parametrize("pane", list(PANES))
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (200, 60)])
@pytest.mark.parametrize("name", ["mail", HOSTILE])
def test_the_screen_is_filled_and_nothing_is_wider_than_it(pane: str, width: int, height: int, name: str) -> None:
    lines = screenshot(busy_look(name), pane, width, height)
    assert len(lines) == height
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["mail", HOSTILE])
def test_a_history_and_a_filter_fit_too(name: str) -> None:
    for screen in (Screen(shows_why=True), Screen(typed=name), Screen(filter=name), Screen(shows_help=True)):
        lines = drawing(screen, busy_look(name), (), 80, 24)
        assert (len(lines), max(map(len, lines)) <= 80) == (24, True)
        assert all(line.isprintable() for line in lines)


def test_of_ten_thousand_handlers_a_screenful_is_drawn() -> None:
    figures = {Series("lane", f"h{number}"): Figures(Counter({"completed": number})) for number in range(10_000)}
    lines = screenshot(replace(busy_look(), minutes={100 * MINUTE: figures}), "handlers", 80, 24)
    assert len(lines) == 24
    assert any(line.startswith("h9999") for line in lines)


def test_on_a_narrow_screen_the_columns_that_matter_least_go() -> None:
    wide = aligned(PANES["workers"], PANES["workers"].rows(busy_look()), 200)[0]
    narrow = aligned(PANES["workers"], PANES["workers"].rows(busy_look()), 30)[0]
    assert "pid" in wide
    assert "pid" not in narrow
    assert "process" in narrow


def test_long_texts_are_shortened_before_columns_go() -> None:
    look = busy_look("report.build_quarterly_statement_for_region")
    rows = PANES["workers"].rows(
        replace(look, workers=[replace(worker("host", 1), running=(next(iter(look.running)),))])
    )
    header, row = aligned(PANES["workers"], rows, 64)
    assert {"process", "state", "tasks", "handler", "task", "age"} <= set(header.split())
    assert "report.build_qu…" in row
    assert len(row) <= 64
    assert "report.build_quarterly_statement_for_region" in aligned(PANES["workers"], rows, 200)[1]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_bar_of_this_minute_is_shown_on_every_screen(width: int) -> None:
    states = dict.fromkeys(State, 1_345)
    counts = Counts(states, {}, dead=1_345, solo=0, unreadable=0, workers=1, oldest_ms=None)
    rates = {"mail": Rates(1_234.0, 1_234.0)}
    line = screenshot(replace(busy_look(), counts=counts, rates=rates), "lanes", width, 24)[1]
    assert line.rstrip().endswith("█")
    assert "in 1,234/s  out 1,234/s" in line


@pytest.mark.parametrize(
    ("oldest", "wait", "colours"),
    [(0.5, 0.2, ["green", "green"]), (10.0, 70.0, ["yellow", "red"]), (None, None, ["", ""])],
)
def test_waits_of_a_lane_have_a_colour(oldest: float | None, wait: float | None, colours: list[str]) -> None:
    figures = Figures(wait=Histogram(1, bucketed([wait] if wait else [])))
    seen = replace(
        busy_look(),
        lanes=Lanes(NOW, (replace(lane("mail"), oldest_ms=None if oldest is None else NOW - int(oldest * 1000)),), {}),
        minutes={100 * MINUTE: {Series("mail", "mail"): figures}},
    )
    [row] = PANES["lanes"].rows(seen)
    titles = [column.title for column in PANES["lanes"].columns]
    assert [(titles[i], colour) for i, colour in row.colours] == [("oldest", colours[0]), ("wait p95", colours[1])]
    console = Console(width=120, file=io.StringIO(), force_terminal=True, color_system="standard", record=True)
    console.print(drawn(Screen(pane="lanes", selected=-1), seen, [row], 120, 24, Told()))
    shown = console.export_text(styles=True)
    codes = {"green": "\x1b[32m", "yellow": "\x1b[33m", "red": "\x1b[31m"}
    for title, colour in zip(("oldest", "wait p95"), colours, strict=True):
        if colour:
            cell = row.cells[titles.index(title)]
            assert re.search(re.escape(codes[colour]) + " *" + re.escape(cell), shown)


def test_the_selected_row_is_always_visible() -> None:
    look = busy_look()
    rows = shown_rows(PANES["workers"], look, "", None, is_reversed=False)
    assert "worker 49" in "".join(drawing(Screen(selected=49), look, rows, 100, 10))


def test_rows_are_filtered_and_sorted() -> None:
    pane, look = PANES["workers"], busy_look()
    assert [row.cells[1] for row in shown_rows(pane, look, "WORKER 7", None, is_reversed=False)] == ["worker 7"]
    by_pid = shown_rows(pane, look, "", 2, is_reversed=False)
    assert by_pid[0].cells[1] == "worker 49"
    assert shown_rows(pane, look, "", 2, is_reversed=True)[0].cells[1] == "worker 0"


def ran(number: int) -> Rollup:
    return {Series("a", ""): Figures(Counter({"completed": number}))}


def test_rates_are_those_between_two_looks() -> None:
    flow, at = LaneFlow(), 100 * MINUTE
    assert flow.rates(at, {"a": 10}, {at: ran(100)}) == {}
    assert flow.rates(at + 2000, {"a": 14}, {at: ran(106)})["a"] == (5.0, 3.0)


def test_rates_go_on_when_a_minute_ends() -> None:
    flow, at = LaneFlow(), 100 * MINUTE
    flow.rates(at + 59_000, {"a": 0}, {at - MINUTE: ran(7), at: ran(100)})
    rates = flow.rates(at + 61_000, {"a": 0}, {at: ran(110), at + MINUTE: ran(10)})
    assert rates["a"] == (10.0, 10.0)


def test_rates_are_of_the_last_ten_seconds() -> None:
    flow, at = LaneFlow(), 100 * MINUTE
    for second in range(40):
        rates = flow.rates(at + second * 1000, {"a": 0}, {at: ran(1000 if second >= 5 else 0)})
    assert rates["a"].leaving == 0
