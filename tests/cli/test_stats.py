"""`supervisor stats` of a real pool: what ran, how long, and beside the period before."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.core.rollup import Histogram, Series, bucketed, field_of
from holdfast.core.worker_records import Introduction
from holdfast.store.redis import RedisStore
from tests.cli.commands import Cli
from tests.cli.conftest import two_workers
from tests.cli.stores import with_store


@pytest.fixture(scope="module")
def pool() -> Iterator[Cli]:
    """One that runs nothing but the tasks of this file."""
    with two_workers() as cli:
        yield cli


def ran(pool: Cli, texts: list[str], lane: str | None = None) -> None:
    where = ("--lane", lane) if lane else ()
    assert pool("submit", *texts, "--wait", *where).status == 0


def counted(pool: Cli, *options: str) -> dict[str, Any]:
    """The statistics, once the workers have told of what they measured."""
    found: dict[str, Any] = {}
    for _ in range(100):
        found = pool("stats", "--json", *options).document
        if found["all"]["run"] and found["all"]["run"]["samples"] == found["all"]["completed"]:
            return found
    raise AssertionError(found)


def test_what_ran_is_counted_with_its_times(pool: Cli) -> None:
    before = pool("stats", "--json").document["all"]["completed"]
    ran(pool, ["a b", "c d e", "f"])
    found = counted(pool)
    assert found["all"]["completed"] == before + 3
    assert found["all"]["failures"] == 0
    assert 0 < found["all"]["run"]["p50"] <= found["all"]["run"]["p99"]
    assert [lane["name"] for lane in found["lanes"]] == ["bindu:tasks"]
    assert sum(step["runs"] for step in found["course"]) == found["all"]["runs"]
    assert found["all"]["lost_samples"] == 0


def test_a_person_reads_a_table_and_a_row_of_bars(pool: Cli) -> None:
    ran(pool, ["a"])
    counted(pool)
    text = pool("stats", "--since", "10m").out
    assert "the last 10m 0s" in text
    assert "runs each minute: |" in text
    assert "busiest handlers" in text
    assert "(default)" in text
    assert "█" in text


def test_csv_has_a_row_for_each_handler(pool: Cli) -> None:
    ran(pool, ["a"])
    rows = list(csv.DictReader(io.StringIO(pool("stats", "--csv").out)))
    assert [row["handler"] for row in rows] == [""]
    assert int(rows[0]["completed"]) >= 1


def test_figures_of_another_lane_are_left_out(pool: Cli) -> None:
    ran(pool, ["a"])
    assert pool("stats", "--json", "--lane", "another").document["all"]["runs"] == 0


HOSTILE = '[red]a\x1b[31m\n\u202e,"=cmd()'


def noted(cli: Cli, handlers: list[str]) -> None:
    """Runs of these handlers, as a worker tells of them."""

    async def work(store: RedisStore) -> None:
        await store.register(Introduction("w", "host", "boot", 1, 0))
        for number in range(0, len(handlers), 100):
            fields: dict[str, int | bytes] = {}
            for handler in handlers[number : number + 100]:
                series = Series(HOSTILE, handler)
                fields[field_of("run:completed", series)] = Histogram(1000, bucketed([0.001])).spelled()
                fields[field_of("completed", series)] = 1
            await store.add_samples("w", number + 1, fields)

    with_store(cli, work)


def test_hostile_names_are_told_and_do_nothing(inside: Cli) -> None:
    noted(inside, [HOSTILE])
    for options in ((), ("--csv",)):
        text = inside("stats", *options).out
        assert all(line.isprintable() for line in text.splitlines())
        assert "[red]a" in text
    rows = list(csv.reader(io.StringIO(inside("stats", "--csv").out)))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert inside("stats", "--json").document["handlers"][0]["name"] == HOSTILE
    assert inside("stats", "--handler", HOSTILE, "--json").document["all"]["runs"] == 1


def test_of_ten_thousand_handlers_all_are_counted_and_few_are_told(inside: Cli) -> None:
    noted(inside, [f"handler {number}" for number in range(10_000)])
    document = inside("stats", "--json").document
    assert document["all"]["completed"] == 10_000
    assert len(document["handlers"]) < 450
    assert "other" in {each["name"] for each in document["handlers"]}
    assert len(inside("stats").out.splitlines()) < 60


def test_nothing_has_run(inside: Cli) -> None:
    assert "runs" in inside("stats").out
    document = inside("stats", "--json").document
    assert (document["all"]["runs"], document["handlers"], document["all"]["run"]) == (0, [], None)


def test_a_period_that_is_not_kept_is_refused(inside: Cli) -> None:
    for given in ("16d", "10s"):
        refused = inside("stats", "--since", given)
        assert refused.status == 2
        assert "from 1m to 15d" in refused.err


def test_json_and_csv_exclude_each_other(inside: Cli) -> None:
    assert inside("stats", "--json", "--csv").status == 2
