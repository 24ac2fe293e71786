"""`supervisor stats` of a real pool: what ran, how long, and beside the period before."""

from __future__ import annotations

import csv
import io
from typing import Any

from tests.cli.commands import Cli


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
