"""A minute of chaos balances; what the checker is for is noticed; its judgements on histories made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import checks, ledger, report
from tests.chaos.checks import Evidence
from tests.chaos.measure import recoveries
from tests.chaos.play import Plan, play, play_once

Line = dict[str, object]


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_minute_of_chaos_balances(short_path: Path) -> None:
    outcome = await play(Plan(seconds=60.0, seed=1), short_path)
    print(ledger.line(outcome))
    assert outcome.breaches == []
    report.write(short_path / "report", outcome)
    assert "<svg" in (short_path / "report" / "play-1.html").read_text()


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_rule_taken_out_is_noticed() -> None:
    outcome = await play_once(Plan(seconds=15.0, seed=1, mutant="recover puts nothing back", retention=False))
    assert outcome.breaches


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
