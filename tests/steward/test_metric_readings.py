"""Readings of metrics: counters only grow, labels are bounded, and texts of others do no harm."""

from __future__ import annotations

import math
from collections import Counter

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.rollup import MINUTE, OTHER, Figures, Histogram, Rollup, Series, bucketed, field_of
from holdfast.core.worker_records import Introduction
from holdfast.store.memory import MemoryStore
from holdfast.telemetry import metric_table as table
from holdfast.telemetry.metric_table import BOUNDS, MOST_NAMES, TABLE, BoundedNames, Kind, Readings
from holdfast_config import Settings
from holdfastd.steward.metrics.queue_report import (
    LEASE,
    MOST_SERIES,
    SCRAPED_WITHIN,
    DeliveryTotals,
    QueueReport,
    Reporter,
)
from holdfastd.steward.metrics.serve import cumulative, exposed
from tests.cli.scraping import Scrape
from tests.lua.operations import submission

NOW = 1_700_000_000_000 // MINUTE * MINUTE + 5000


def rollup(*handlers: str, lane: str = "q", completed: int = 1) -> Rollup:
    figures = {Series(lane, handler): Figures() for handler in handlers}
    for each in figures.values():
        each.outcomes["completed"] = completed
    return figures


def completed(totals: Rollup) -> int:
    return sum(figures.outcomes["completed"] for figures in totals.values())


def fresh() -> DeliveryTotals:
    return DeliveryTotals(BoundedNames(), BoundedNames())


def test_a_minute_that_goes_on_is_counted_once() -> None:
    totals, this = fresh(), NOW // MINUTE * MINUTE
    assert totals.since(NOW) == this
    assert completed(totals.add({this: rollup("h", completed=2)}, NOW)) == 2
    assert completed(totals.add({this: rollup("h", completed=5)}, NOW + 1000)) == 5
    later = NOW + MINUTE
    assert totals.since(later) == this
    assert completed(totals.add({this: rollup("h", completed=6), this + MINUTE: rollup("h")}, later)) == 7
    assert totals.since(later) == this + MINUTE
    assert completed(totals.add({this + MINUTE: rollup("h")}, later)) == 7


def test_after_a_long_pause_what_came_before_is_left_out() -> None:
    totals = fresh()
    totals.add({}, NOW)
    assert totals.since(NOW + 600 * MINUTE) == NOW // MINUTE * MINUTE + 570 * MINUTE


def test_ten_thousand_handlers_become_a_bounded_number_and_none_is_lost() -> None:
    totals, this = fresh(), NOW // MINUTE * MINUTE
    names = [f"handler-{n}" for n in range(10_000)]
    found = totals.add({this: rollup(*names) | rollup("busy", completed=9)}, NOW)
    assert completed(found) == 10_009
    assert len(found) == MOST_NAMES + 1
    assert found[Series("q", "busy")].outcomes["completed"] == 9, "the busiest get a name first"
    again = totals.add({this: rollup(*reversed(names))}, NOW)
    assert {series for series in again if series.handler != OTHER} <= set(found), "names stay what they were"


def test_pairs_of_lanes_and_handlers_are_bounded() -> None:
    pairs: Rollup = {}
    for lane in range(100):
        pairs |= rollup(*(f"h{n}" for n in range(100)), lane=f"lane-{lane}")
    found = fresh().add({NOW // MINUTE * MINUTE: pairs}, NOW)
    assert len(found) <= MOST_SERIES + 1
    assert completed(found) == 10_000


@given(st.lists(st.floats(1e-6, 5000), min_size=1))
def test_a_bucket_holds_no_more_than_is_short_enough_and_hardly_less(seconds: list[float]) -> None:
    histogram = Histogram(round(1e6 * sum(seconds)), bucketed(seconds))
    found = dict(cumulative(histogram))
    assert found.pop("+Inf") == len(seconds)
    for bound in BOUNDS:
        assert found[str(bound)] <= sum(each < bound * (1 + 1e-9) for each in seconds)
        assert found[str(bound)] >= sum(each * 2 ** (1 / 8) * 1.001 + 2e-6 < bound for each in seconds)
    assert list(found.values()) == sorted(found.values())


HOSTILE = ['a"b', "a\nb", "a\\b", "a{b}", '"} 1\nholdfast_store_up 0', "ü€😀", "\x00\x1b[31m", " ", "", "a" * 10_000]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_values_of_labels_and_nothing_else(name: str) -> None:
    readings, names = Readings(), BoundedNames()
    readings.set(table.LANE_DEPTH, 3, "q", names.name(name))
    _, text = exposed(readings, "")
    [(metric, labels, value)] = Scrape.of(text.decode()).samples
    assert (metric, labels, value) == ("holdfast_lane_depth", {"queue": "q", "lane": name[:128]}, 3)


def test_values_of_one_label_are_added_and_of_ages_the_highest_counts() -> None:
    readings = Readings()
    for depth, age in ((2, 30), (3, 10)):
        readings.set(table.LANE_DEPTH, depth, "q", OTHER)
        readings.set(table.LANE_OLDEST, age, "q", OTHER)
    _, text = exposed(readings, "")
    scrape = Scrape.of(text.decode())
    assert scrape.value("holdfast_lane_depth") == 5
    assert scrape.value("holdfast_lane_oldest_seconds") == 30


def test_names_follow_the_conventions_and_are_there_once() -> None:
    names = [metric.prometheus_name for metric in TABLE]
    assert len(set(names)) == len(names) > 30
    for metric in TABLE:
        assert metric.prometheus_name.endswith("_total") == (metric.kind is Kind.COUNTER)
        assert metric.meaning.endswith(".")
    assert table.PROCESS_CPU.prometheus_name == "holdfast_process_cpu_seconds_total"
    assert table.STORE_MEMORY.prometheus_name == "holdfast_store_memory_bytes"


async def read_from(report: QueueReport) -> Scrape:
    _, text = exposed(await report.read(), "")
    return Scrape.of(text.decode())


def test_ten_thousand_handlers_of_a_store_are_bounded_and_all_are_counted() -> None:
    async def play() -> Scrape:
        store = MemoryStore("q")
        await store.register(Introduction("w", "host", "boot", 1, 0))
        report = QueueReport(store, Settings(queue_name="q"))
        await report.read()  # counts from this minute on, if the next one begins meanwhile
        for start in range(0, 10_000, 1000):
            names = [Series("q", f'hostile "{n}"\n') for n in range(start, start + 1000)]
            samples = {field_of("run:completed", name): b"1000 -80 1" for name in names}
            await store.add_samples("w", start + 1, samples)
        scrape = await read_from(report)
        await store.aclose()
        return scrape

    scrape = anyio.run(play)
    handlers = {labels["handler"] for name, labels, _ in scrape.samples if name == "holdfast_task_run_seconds_count"}
    assert len(handlers) <= MOST_NAMES + 1
    assert scrape.value("holdfast_task_run_seconds_count") == 10_000


def test_many_lanes_are_bounded() -> None:
    async def play() -> Scrape:
        store = MemoryStore("q", most_waiting=1000)
        lanes = [f"lane-{n}" for n in range(300)]
        await store.submit([submission(f"t-{lane}", lane) for lane in lanes])
        scrape = await read_from(QueueReport(store, Settings(queue_name="q")))
        await store.aclose()
        return scrape

    scrape = anyio.run(play)
    assert len([1 for name, _, _ in scrape.samples if name == "holdfast_lane_depth"]) == MOST_NAMES + 1
    assert scrape.value("holdfast_lane_depth") == 300
    assert scrape.value("holdfast_lane_depth", lane=OTHER) > 90


def test_a_steward_that_is_not_scraped_gives_the_report_up() -> None:
    async def play() -> None:
        now = [0.0]
        store = MemoryStore("q")
        one, two = (Reporter(store, lambda: now[0]) for _ in range(2))
        assert await one.ask()
        assert not await two.ask()
        assert one.has_duty
        now[0] = LEASE
        assert not one.has_duty, "its lease may have ended in the store"
        assert await one.ask()
        await one.run_once()
        now[0] += SCRAPED_WITHIN - LEASE / 2
        await one.run_once()
        assert not await two.ask()
        now[0] += LEASE / 2
        await one.run_once()
        assert not one.has_duty
        assert await two.ask()
        await two.leave()
        assert await one.ask()
        await store.aclose()

    anyio.run(play)


def test_a_figure_of_nothing_is_none() -> None:
    assert math.isclose(dict(cumulative(Histogram(0, Counter())))["+Inf"], 0)
