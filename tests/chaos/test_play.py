"""A play of chaos balances; what the checker is for is noticed; its judgements on histories made by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from tests.chaos import causes, checks, claims
from tests.chaos.checks import Evidence
from tests.chaos.measure import recoveries
from tests.chaos.mutants import MUTANTS
from tests.chaos.servers import through
from tests.chaos.summary import summary
from tests.lua import invariants
from tests.servers import valkey

ROOT = Path(__file__).parents[2]
Line = dict[str, object]


def chaos(*words: str) -> subprocess.CompletedProcess[str]:
    """The program as a sceptic runs it."""
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=ROOT, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", ["10", pytest.param("60", marks=pytest.mark.long)])
def test_some_chaos_balances(tmp_path: Path, seconds: str) -> None:
    done = chaos("tests.chaos", "--seconds", seconds, "--seed", "1", "--report", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(": balanced")
    assert "<svg" in (tmp_path / "play-1.html").read_text()
    assert json.loads((tmp_path / "play-1.json").read_text())["breaches"] == []


@pytest.mark.long
@pytest.mark.slow
def test_a_rule_taken_out_is_noticed() -> None:
    done = chaos("tests.chaos.mutants", "recover puts nothing back")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "I1" in done.stdout


def test_each_mutant_still_finds_the_rule_that_it_takes_out() -> None:
    assert all(mutant.replaced or mutant.change for mutant in MUTANTS.values())


def event(at: int, name: str, task_id: str, detail: str = "") -> dict[str, str]:
    return {"at": str(at * 1000), "event": name, "id": task_id, "detail": detail}


def pushed(task_id: str, **more: object) -> Line:
    usual = {"what": "submit", "answer": None, "own": True, "delayed": False, "lane": "q"}
    return {"at": 0.0, "wall": 0.0, "id": task_id, "message": f"m-{task_id}", **usual, **more}


def ran(at: float, what: str, task_id: str, delivery: int = 1, **more: object) -> Line:
    usual = {"turn": 1, "pid": 7, "message": f"m-{task_id}", "verb": "nap", "host": "host0", "how": "returned"}
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


def begun(task_id: str, delivery: int = 1, pid: int = 7) -> Line:
    return {"at": 2.0, "wall": 2.0, "id": task_id, "delivery": delivery, "pid": pid, "host": "host0"}


REGISTERED = event(1, "worker-registered", "a", "host0 7")
CRASHED = event(3, "crashed", "t", "1 killed 1:a:1")


@pytest.mark.parametrize(
    "histories",
    [
        {"faults": [{"fault": "worker killed", "what": "hits", "pids": [7]}], "runs": []},
        {"faults": [{"fault": "host cut off", "what": "cut off", "pids": [7]}], "runs": []},
        {"faults": [], "runs": [ran(2, "start", "another", verb="abort")]},
    ],
)
def test_a_crash_that_was_struck_or_poisoned_is_explained(histories: dict[str, list[Line]]) -> None:
    assert list(causes.causeless_crashes([REGISTERED, CRASHED], **histories)) == []


@pytest.mark.parametrize(
    ("crashes", "in_company", "is_fine"), [(4, 2, True), (4, 0, True), (3, 0, False), (2, 0, False), (4, 3, False)]
)
def test_a_dead_letter_has_crashed_four_times_and_two_of_them_alone(
    crashes: int, in_company: int, is_fine: bool
) -> None:
    events = []
    for n in range(crashes):
        if n < in_company:
            events.append(event(n, "claimed", f"other{n}", f"1:w{n}:1"))
        events += [event(n, "claimed", "t", f"{n}:w{n}:1"), event(n, "crashed", "t", f"1 killed {n}:w{n}:1")]
    events.append(event(9, "dead-letter", "t"))
    assert (list(causes.given_up(events)) == []) is is_fine


@pytest.mark.parametrize(
    ("history", "is_fine"),
    [
        (["recovered", "suspected", "crashed", "crashed", "crashed"], True),
        (["recovered", "suspected", "crashed", "crashed"], False),
        (["crashed", "suspected", "crashed", "crashed", "crashed"], True),
        (["crashed", "suspected", "crashed", "crashed"], False),  # the third recovery was charged by itself
        (["crashed", "recovered", "suspected", "crashed", "crashed"], False),
    ],
)
def test_a_suspect_by_recoveries_is_charged_once_where_no_crash_was(history: list[str], is_fine: bool) -> None:
    events = [event(n, name, "t", f"1 killed {n}:w:1") for n, name in enumerate([*history, "dead-letter"])]
    assert (list(causes.given_up(events)) == []) is is_fine


def test_a_task_that_ran_once_is_fine() -> None:
    assert checks.breaches(GOOD) == []


def test_a_message_that_joined_a_turn_ran_with_the_one_that_came_after_it() -> None:
    joined = event(1, "joined", "t", "2 m2")
    runs = [ran(2.1, "start", "t", turn=2, message="m2", joined=["m-t"]), ran(2.9, "end", "t", turn=2)]
    events = [GOOD.events[0], joined, GOOD.events[1], event(3, "settled", "t", "completed 2 1:a:1 ")]
    assert checks.breaches(Evidence(events, runs, [*GOOD.clients, pushed("t", message="m2")], [])) == []


@pytest.mark.parametrize(
    ("evidence", "breach"),
    [
        (Evidence(GOOD.events[:2], GOOD.runs, GOOD.clients, []), "lost: t was accepted"),
        (Evidence(GOOD.events, [], GOOD.clients, []), "m-t of t neither ran"),
        (Evidence(GOOD.events, GOOD.runs[:1], GOOD.clients, []), "no handler returned"),
        (Evidence(GOOD.events, [*GOOD.runs, *GOOD.runs], GOOD.clients, []), "started 2 times"),
        (Evidence(GOOD.events, [*GOOD.runs, ran(5, "start", "t", 2)], GOOD.clients, []), "never claimed"),
        (
            Evidence(GOOD.events, [{**GOOD.runs[0], "joined": ["m0"]}, GOOD.runs[1]], GOOD.clients, []),
            "which m-t never joined",
        ),
        (
            Evidence(
                [*GOOD.events[:2], event(2, "joined", "t", "2 m-t"), *GOOD.events[2:]],
                [
                    *GOOD.runs,
                    ran(3, "start", "t", 2, turn=2, joined=["m2"]),
                    ran(4, "start", "t", 3, turn=3, message="m2"),
                ],
                GOOD.clients,
                [],
            ),
            "had another one for itself",
        ),
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
            Evidence(GOOD.events, GOOD.runs, [*GOOD.clients, pushed("t", what="cancel", answer="canceled")], []),
            "told that it is canceled, it is completed",
        ),
        (
            Evidence([*GOOD.events, event(4, "dead-letter", "t")], GOOD.runs, GOOD.clients, []),
            "after 0 crashes, 0 of them alone",
        ),
        (
            Evidence([*GOOD.events[:2], event(3, "settled", "t", "exhausted 1 1:a:1 ")], GOOD.runs, GOOD.clients, []),
            "given up on after 0 retries",
        ),
        (
            Evidence([*GOOD.events[:2], event(2, "claimed", "t", "2:b:1"), GOOD.events[2]], [], [], []),
            "1 starts are unexplained",
        ),
        (Evidence([*GOOD.events[:2], event(3, "returned", "t", "1:a:1")], GOOD.runs, [], []), "its handler had ended"),
        (Evidence([REGISTERED, *GOOD.events[:2], CRASHED], [], [], []), "a crash that nobody has caused"),
        (Evidence(GOOD.events, GOOD.runs, GOOD.clients, [], broken=["seen"]), "seen"),
        (Evidence(GOOD.events, GOOD.runs, [pushed("t", webhook=True)], []), "its webhook was never told"),
        (Evidence([*GOOD.events, event(4, "accepted", "s@1", "own")], GOOD.runs, GOOD.clients, []), "lost: s@1 was"),
        (
            Evidence(GOOD.events, GOOD.runs, [*GOOD.clients, pushed("t", message="f1-t")], []),
            "message f1-t of t neither ran",
        ),
        (
            Evidence(GOOD.events, [ran(n, "start", "t", n, verb="end_host") for n in range(11)], GOOD.clients, []),
            "has ended its host 11 times",
        ),
    ],
)
def test_each_breach_is_named(evidence: Evidence, breach: str) -> None:
    assert any(breach in found for found in checks.breaches(evidence)), checks.breaches(evidence)


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(GOOD.events, GOOD.runs, [pushed("t", webhook=True)], [], heard={"t"}),
        Evidence([*GOOD.events, event(4, "webhook-dropped", "t")], GOOD.runs, [pushed("t", webhook=True)], []),
        Evidence(GOOD.events, GOOD.runs, [*GOOD.clients, pushed("t", message="f1-t", answer="refused")], []),
        Evidence(
            GOOD.events, GOOD.runs, [*GOOD.clients, pushed("t", message="f1-t")], [], aside="['f1-t']", set_aside=1
        ),
        Evidence([*GOOD.events, event(4, "schedule-fired", "s")], GOOD.runs, GOOD.clients, []),
    ],
)
def test_what_is_told_dropped_refused_or_set_aside_is_accounted(evidence: Evidence) -> None:
    assert checks.breaches(evidence) == []


def test_an_overlap_is_is_fineby_a_worker_declared_dead() -> None:
    events = [
        *GOOD.events[:2],
        event(2, "recovered", "t", "lease lapsed 1:a:1"),
        event(2, "claimed", "t", "2:b:1"),
        GOOD.events[2],
    ]
    runs = [ran(2.1, "start", "t"), ran(2.2, "start", "t", 2), ran(2.3, "end", "t"), ran(2.4, "end", "t", 2)]
    assert checks.breaches(Evidence(events, runs, GOOD.clients, [])) == []


@pytest.mark.parametrize(
    ("what", "detail", "had_begun", "is_fine"),
    [
        ("crashed", "1 signal: SIGKILL 1:a:1", True, True),
        ("crashed", "1 signal: SIGKILL 1:a:1", False, True),  # it died between its note and the handler's record
        ("recovered", "orphaned 1:a:1", True, True),
        ("recovered", "orphaned 1:a:1", False, True),
        ("recovered", "orphaned, before it had begun 1:a:1", False, True),
        ("recovered", "lease lapsed 1:a:1", False, True),  # nobody knows
        ("release", "1:a:1 drain", True, True),
        ("release", "1:a:1 drain", False, False),
        ("returned", "1:a:1 drain", False, True),
    ],
)
def test_only_what_had_begun_is_charged(what: str, detail: str, had_begun: bool, is_fine: bool) -> None:
    found = claims.charged_unbegun([REGISTERED, event(3, what, "t", detail)], [begun("t")] if had_begun else [], {})
    assert (list(found) == []) is is_fine


def test_one_death_counts_for_one_task_without_a_record_at_most() -> None:
    events = [REGISTERED, *(event(3, "crashed", f"t{n}", "1 signal: SIGKILL 1:a:1") for n in range(2))]
    [found] = claims.charged_unbegun(events, [], {})
    assert found.startswith("t1 had not begun")


@pytest.mark.parametrize(("lost", "is_fine"), [(2, True), (3, False)])
def test_the_loss_of_a_worker_counts_for_as_many_as_it_runs_at_once(lost: int, is_fine: bool) -> None:
    events = [REGISTERED, *(event(3, "recovered", f"t{n}", f"lease lapsed {n}:a:1") for n in range(lost))]
    assert (list(claims.charged_unbegun(events, [begun("t0")], {"host0": 2})) == []) is is_fine


def test_more_handlers_than_may_run_are_noticed() -> None:
    runs = [ran(1, "start", "a"), ran(2, "start", "b"), ran(3, "end", "a"), ran(4, "start", "c")]
    assert list(claims.too_many_begun(runs, {"host0": 2})) == []
    assert list(claims.too_many_begun([*runs, ran(5, "start", "d")], {"host0": 2})) == [
        "d was begun by a worker of host0 that ran 2"
    ]


def test_claims_ahead_are_counted() -> None:
    claimed = [event(2, "claimed", task_id, f"1:a:{number}") for number, task_id in enumerate("bcde")]
    events = [REGISTERED, *claimed[:3], event(3, "returned", "d", "1:a:2"), claimed[3]]
    assert claims.claimed_ahead(events, [begun("b")], {"host0": 2}) == 2


@pytest.mark.parametrize(
    ("lanes", "kind", "most"), [(1, "worker", 36), (3, "worker", 106), (17, "worker", 6), (1, "single", 6)]
)
def test_a_worker_of_a_few_lanes_may_hold_claims_ahead(lanes: int, kind: str, most: int) -> None:
    served = json.dumps([[f"lane{number}"] for number in range(lanes)])
    assert invariants.most_held({"concurrency": "6", "kind": kind, "lanes": served}, 30) == most


@pytest.mark.parametrize(("before", "is_fine"), [("input-required 1 1:a:1 ", True), ("completed 1 1:a:1 ", False)])
def test_a_message_runs_in_one_more_turn_if_its_task_is_resumed_while_it_asks(before: str, is_fine: bool) -> None:
    events = [
        *(event(1, "accepted", "t", "own"), event(2, "claimed", "t", "1:a:1"), event(3, "settled", "t", before)),
        *(event(4, "resumed", "t"), event(4, "claimed", "t", "2:a:2"), event(5, "settled", "t", "completed 2 2:a:2 ")),
    ]
    again = [ran(4.1, "start", "t", 2, turn=2), ran(4.9, "end", "t", 2, turn=2)]
    broken = checks.breaches(replace(GOOD, events=events, runs=[*GOOD.runs, *again]))
    assert ("message m-t of t ran in more than one turn" not in broken) is is_fine


def in_turn(*claimed: str) -> list[dict[str, str]]:
    accepted = [event(1, "accepted", task_id, "own") for task_id in ("a", "b")]
    return [*accepted, *(event(2, "claimed", task_id, "1:w:1") for task_id in claimed)]


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
    breaches = checks.breaches(Evidence(in_turn(*claims), [], [pushed("a"), pushed("b")], faults))
    assert any("waited longer" in breach for breach in breaches) is is_broken


def test_whose_entry_was_stolen_comes_when_it_is_found() -> None:
    events = [*in_turn("b"), event(3, "put-back", "a"), event(4, "claimed", "a", "1:w:1")]
    breaches = checks.breaches(Evidence(events, [], [pushed("a"), pushed("b")], []))
    assert not any("waited longer" in breach for breach in breaches)


@pytest.mark.parametrize(("after", "is_fine"), [(70, True), (20, False)])
def test_an_id_comes_again_only_when_it_was_forgotten(after: int, is_fine: bool) -> None:
    again = [event(3 + after, "accepted", "t", "foreign"), event(4 + after, "claimed", "t", "1:b:1")]
    events = [*GOOD.events, *again, event(5 + after, "settled", "t", "completed 1 1:b:1 ")]
    runs = [*GOOD.runs, ran(4.1 + after, "start", "t"), ran(4.2 + after, "end", "t")]
    assert (checks.breaches(Evidence(events, runs, GOOD.clients, [])) == []) is is_fine


def test_plays_are_summed_up() -> None:
    play = {"seed": 1, "figures": {"lost": 0, "starts": 600}, "faults": {"worker killed": 2, "reloaded": 1}}
    each = {"recovery seconds": {"worker killed": {"each": [0.02, 1.5]}}}
    lines = summary([{**play, **each}, {**play, "seed": 2, "recovery seconds": {}}]).splitlines()
    assert lines[0] == "| seeds 1, 2 | |"
    assert "| starts | 1,200 |" in lines
    assert "| worker killed | 4 | 2 | 1.5 s | 1.5 s |" in lines
    assert "| reloaded | 2 | 0 | | |" in lines


def test_a_recovery_is_measured_from_the_strike_to_the_next_start() -> None:
    runs = [
        ran(1.0, "start", "t"),
        ran(1.0, "start", "done"),
        ran(1.1, "end", "done"),
        ran(2.5, "start", "t", 2, pid=8),
    ]
    strikes = [{"at": 2.0, "fault": "worker killed", "what": "hits", "pids": [7]}]
    assert recoveries(runs, strikes, []) == {"worker killed": [0.5]}


def test_a_recovery_that_the_nemesis_waited_for_is_measured_by_it() -> None:
    recovered = [{"at": 2.0, "fault": "schedule gone", "what": "recovered", "seconds": 1.5}]
    assert recoveries([], recovered, []) == {"schedule gone": [1.5]}


def test_a_healing_is_measured_to_the_next_start_on_the_healed_host() -> None:
    runs = [ran(2.1, "start", "a"), ran(2.5, "start", "b", host="host1")]
    healed = [{"at": 2.0, "fault": "host cut off", "what": "healed", "hosts": ["host1"]}]
    assert recoveries(runs, healed, [{"at": 9.0}]) == {"host cut off": [0.5]}
    assert recoveries(runs, healed, [{"at": 2.5}]) == {}  # clients had ended


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--seconds", "0"), "argument --seconds: invalid positive float value: '0'"),
        (("--seconds", "nan"), "argument --seconds: invalid positive float value: 'nan'"),
        (("--seeds", "-3"), "argument --seeds: invalid positive int value: '-3'"),
        (("--workers", "many"), "argument --workers: invalid positive int value: 'many'"),
        (("--rate", "inf"), "argument --rate: invalid positive float value: 'inf'"),
        (("--faults", "rain"), "argument --faults: invalid choice: 'rain'"),
        (("--redis-url", "rediss://h"), "argument --redis-url: rediss URL; give unix:///path or redis://host:port/db"),
        (("--redis-url", "redis://h", "--faults", "server killed"), "server killed would strike whoever uses"),
    ],
)
def test_bad_input_is_refused(words: tuple[str, ...], refusal: str) -> None:
    done = chaos("tests.chaos", *words)
    assert done.returncode == 2
    assert refusal in done.stderr


def test_a_lent_server_that_holds_the_queue_is_refused_and_left_as_it_is(short_path: Path) -> None:
    with valkey(short_path) as url, redis.Redis.from_url(url, decode_responses=True) as client:
        client.set("{chaos}:task:theirs", "1")
        client.rpush("chaos", "theirs")
        done = chaos("tests.chaos", "--seconds", "1", "--redis-url", url)
        assert done.returncode == 1
        assert "already holds 2 keys of queue 'chaos' (chaos, …), which this play did not make" in done.stderr
        assert sorted(client.keys()) == ["chaos", "{chaos}:task:theirs"]


@pytest.mark.slow
def test_a_lent_server_is_played_on_and_left_clean(short_path: Path) -> None:
    with valkey(short_path) as url, redis.Redis.from_url(url, decode_responses=True) as client:
        client.set("theirs", "1")
        done = chaos("tests.chaos", "--seconds", "2", "--redis-url", url, "--faults", "worker stopped", "answers cut")
        assert done.returncode == 0, done.stdout + done.stderr
        assert client.keys() == ["theirs"]


@pytest.mark.parametrize(
    ("url", "way"),
    [
        ("unix:///run/redis.sock", "unix:///tmp/p.sock"),
        ("redis://:word@h:7000/3", "unix://:word@/tmp/p.sock?db=3"),
        ("redis://me:word@h", "unix://me:word@/tmp/p.sock"),
    ],
)
def test_a_proxy_leads_to_the_same_user_and_database(url: str, way: str) -> None:
    assert through(url, Path("/tmp/p.sock")) == way
