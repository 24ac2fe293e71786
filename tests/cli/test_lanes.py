"""`supervisor lanes` against a real store: list, pause, resume, limit, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.commands import Cli


def row_of(inside: Cli, lane: str) -> dict[str, Any]:
    [row] = [row for row in inside("lanes", "list", "--json").document["lanes"] if row["lane"] == lane]
    return row


def test_a_lane_is_listed_with_what_waits_in_it(inside: Cli) -> None:
    inside("submit", "a", "b", "--lane", "slow")
    row = row_of(inside, "slow")
    assert (row["waiting"], row["running"], row["paused"]) == (2, 0, False)
    assert row["oldest_seconds"] >= 0
    assert "slow" in inside("lanes", "list").out


def test_what_a_shell_says_of_a_lane_that_nobody_serves_is_not_shown(inside: Cli) -> None:
    queue = inside.options[-1]
    (inside.folder / "mine.toml").write_text(f'lanes = "{queue}=3;timeout=90s,slow"\n')
    given = ["--config", str(inside.folder / "mine.toml")]
    [row] = [lane for lane in inside("lanes", "list", "--json", *given).document["lanes"] if lane["lane"] == queue]
    assert (row["weight"], row["timeout"], row["workers"]) == (None, None, 0)
    assert "no worker serves it" in inside("lanes", "list", *given).out


def test_a_pause_is_shown_with_its_reason_until_it_ends(inside: Cli) -> None:
    first = inside("lanes", "pause", "slow", "--create", "--reason", "the bank\x1b is closed")
    assert (first.status, first.out) == (0, "slow paused\n")
    assert inside("lanes", "pause", "slow").out == "slow was paused already\n"
    inside("submit", "a", "--lane", "slow")
    assert row_of(inside, "slow")["waiting"] == 1
    assert "paused: paused by " in inside("lanes", "list").out
    assert inside("lanes", "resume", "slow").out == "slow resumed\n"
    assert inside("lanes", "resume", "slow").out == "slow was not paused\n"
    assert row_of(inside, "slow")["paused"] is False


def test_bounds_are_set_shown_and_taken_back(inside: Cli) -> None:
    bounds = ("--running", "5", "--rate", "100/m", "--burst", "9")
    assert inside("lanes", "set", "slow", "--create", *bounds).out == "slow bounded\n"
    row = row_of(inside, "slow")
    assert (row["limit"]["value"], row["rate"]["asked"]) == ("5", "100/60000/9")
    assert "100/m burst 9" in inside("lanes", "list").out
    inside("lanes", "set", "slow", "--running", "none")
    assert row_of(inside, "slow")["limit"]["value"] == ""
    assert inside("lanes", "set", "slow", "--reset").out == "slow bounded\n"
    assert "slow" not in inside("lanes", "list").out


def test_the_rate_of_a_handler_is_set_and_shown(inside: Cli) -> None:
    inside("lanes", "set", "--handler", "mail.send", "--create", "--rate", "20/10s")
    assert inside("lanes", "list", "--json").document["handlers"] == {"mail.send": "20/10s"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["set", "slow"], "give either --reset, or limits such as --running or --rate"),
        (["set", "--rate", "1/s"], "give either LANE or --handler NAME"),
        (["set", "slow", "--handler", "a", "--rate", "1/s"], "give either LANE or --handler NAME"),
        (["set", "slow", "--running", "0"], "a whole number from 1 to 1000000, or none"),
        (["set", "slow", "--rate", "fast"], "a rate must be a number and a time, as in 10/s, 100/m, 5/h or 20/10s"),
        (["set", "slow", "--burst", "5"], "burst: 5 needs a rate"),
        (
            ["set", "--handler", "a", "--running", "5"],
            "running: not possible here; possible are handler, rate, burst, reset, create",
        ),
        (["pause", "a b"], "printable characters without spaces and braces"),
    ],
)
def test_what_makes_no_sense_is_refused(inside: Cli, arguments: list[str], line: str) -> None:
    answer = inside("lanes", *arguments)
    assert answer.status == 2
    assert line in answer.err
