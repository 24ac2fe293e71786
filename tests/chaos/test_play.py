"""A minute of chaos balances; what the checker is for is noticed; its judgements on histories made by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos import checks
from tests.chaos.checks import Evidence
from tests.chaos.measure import recoveries

pytestmark = pytest.mark.flaky(reruns=0)  # a breach that is rare is a breach
ROOT = Path(__file__).parents[2]
Line = dict[str, object]


def chaos(*words: str) -> subprocess.CompletedProcess[str]:
    """The program as a sceptic runs it."""
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=ROOT, timeout=600)


@pytest.mark.slow
def test_a_minute_of_chaos_balances(tmp_path: Path) -> None:
    done = chaos("tests.chaos", "--seconds", "60", "--seed", "1", "--report", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(": balanced")
    assert "<svg" in (tmp_path / "play-1.html").read_text()
    assert json.loads((tmp_path / "play-1.json").read_text())["breaches"] == []


@pytest.mark.slow
def test_a_rule_taken_out_is_noticed() -> None:
    done = chaos("tests.chaos.mutants", "recover puts nothing back")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "I1" in done.stdout


def event(at: int, name: str, task_id: str, detail: str = "") -> dict[str, str]:
    return {"at": str(at * 1000), "event": name, "id": task_id, "detail": detail}


def pushed(task_id: str, **more: object) -> Line:
    usual = {"what": "submit", "told": None, "own": True, "delayed": False, "lane": "q"}
    return {"at": 0.0, "wall": 0.0, "id": task_id, "message": f"m-{task_id}", **usual, **more}


def ran(at: float, what: str, task_id: str, delivery: int = 1, **more: object) -> Line:
    usual = {"turn": 1, "pid": 7, "message": f"m-{task_id}", "how": "returned"}
    return {"at": at, "wall": at, "what": what, "id": task_id, "delivery": delivery, **usual, **more}


GOOD = Evidence(
    events=[
        event(1, "accepted", "t", "own"),
        event(2, "claimed", "t", "1:a:1"),
        event(3, "settled", "t", "completed 1 1:a:1 "),
    ],
    runs=[ran(2.1, "start", "t"), ran(2.9, "end", "t")],
    clients=[pushed("t")],
    faults=[],
)


def test_a_task_that_ran_once_is_fine() -> None:
    assert checks.breaches(GOOD) == []


@pytest.mark.parametrize(
    ("evidence", "breach"),
    [
        (Evidence(GOOD.events[:2], GOOD.runs, GOOD.clients, []), "lost: t was accepted"),
        (Evidence(GOOD.events, [], GOOD.clients, []), "m-t of t neither ran"),
        (Evidence(GOOD.events, GOOD.runs[:1], GOOD.clients, []), "no handler returned"),
        (Evidence(GOOD.events, [*GOOD.runs, *GOOD.runs], GOOD.clients, []), "started 2 times"),
        (Evidence(GOOD.events, [*GOOD.runs, ran(5, "start", "t", 2)], GOOD.clients, []), "never claimed"),
        (
            Evidence(
                [*GOOD.events[:2], event(2, "claimed", "t", "2:b:1"), GOOD.events[2]],
                [ran(2.1, "start", "t"), ran(2.2, "start", "t", 2), ran(2.3, "end", "t"), ran(2.4, "end", "t", 2)],
                GOOD.clients,
                [],
            ),
            "began while 1 still ran",
        ),
        (
            Evidence(GOOD.events, GOOD.runs, [*GOOD.clients, pushed("t", what="cancel", told="canceled")], []),
            "told that it is canceled, it is completed",
        ),
        (Evidence([*GOOD.events, event(4, "dead-letter", "t")], GOOD.runs, GOOD.clients, []), "after 0 crashes"),
        (Evidence(GOOD.events, GOOD.runs, GOOD.clients, [], broken=["seen"]), "seen"),
    ],
)
def test_each_breach_is_named(evidence: Evidence, breach: str) -> None:
    assert any(breach in found for found in checks.breaches(evidence)), checks.breaches(evidence)


def test_an_overlap_is_explained_by_a_worker_declared_dead() -> None:
    events = [
        *GOOD.events[:2],
        event(2, "crashed", "t", "1 lease 1:a:1"),
        event(2, "claimed", "t", "2:b:1"),
        GOOD.events[2],
    ]
    runs = [ran(2.1, "start", "t"), ran(2.2, "start", "t", 2), ran(2.3, "end", "t"), ran(2.4, "end", "t", 2)]
    assert checks.breaches(Evidence(events, runs, GOOD.clients, [])) == []


def in_turn(*claims: str) -> list[dict[str, str]]:
    accepted = [event(1, "accepted", task_id, "own") for task_id in ("a", "b")]
    return [*accepted, *(event(2, "claimed", task_id, "1:w:1") for task_id in claims)]


def fault(at: float, what: str) -> Line:
    return {"at": at, "wall": at, "fault": "worker killed", "what": what}


@pytest.mark.parametrize(
    ("claims", "faults", "is_broken"),
    [
        (("a", "b"), [], False),
        (("b", "a"), [], True),
        (("b", "a"), [fault(1.5, "begins"), fault(1.6, "over")], False),
        (("b", "a"), [fault(50.0, "begins"), fault(50.1, "over")], True),
    ],
)
def test_order_counts_in_peace(claims: tuple[str, ...], faults: list[Line], is_broken: bool) -> None:
    found = checks.breaches(Evidence(in_turn(*claims), [], [pushed("a"), pushed("b")], faults))
    assert any("waited longer" in breach for breach in found) is is_broken


def test_a_recovery_is_measured_from_the_strike_to_the_next_start() -> None:
    runs = [
        ran(1.0, "start", "t"),
        ran(1.0, "start", "done"),
        ran(1.1, "end", "done"),
        ran(2.5, "start", "t", 2, pid=8),
    ]
    strikes = [{"at": 2.0, "fault": "worker killed", "what": "hits", "pids": [7]}]
    assert recoveries(runs, strikes) == {"worker killed": [0.5]}
