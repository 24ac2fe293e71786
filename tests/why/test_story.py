"""The words of `supervisor why`, as tables: what happened, and what will."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.batches import BatchCounts, BatchRecord
from holdfast.core.outcomes import ParentResult
from holdfast.core.steps import ANSWER, QUESTION, SLEEP
from holdfast.core.task_states import State
from holdfast.core.tasks import PlaceInLane, TaskRecord
from holdfast.core.trail import LAYOUTS, TrailStep, read_step
from holdfast.core.worker_records import ServedState, WorkerKind, WorkerRecord
from holdfast.why.document import parent_documents, parent_words
from holdfast.why.history import TaskHistory, beginning, events_of, words
from holdfast.why.outlook import TaskSnapshot, outlook

NOW = 1_700_000_100_000
INCARNATION = "0123456789abcdef"
CLAIM = f"2:{INCARNATION}:7"
WORKER = WorkerRecord(INCARNATION, "live", "h", 4711, 3, (), 200)
KNOWN = TaskHistory({INCARNATION: WORKER})
TASK = TaskRecord(
    task_id="t1",
    state=State.SUBMITTED,
    lane="high",
    turn=1,
    message_id="m1",
    name="",
    origin="own",
    created_ms=NOW - 60_000,
    due_ms=None,
    finished_ms=None,
    deliveries=0,
    attempts=0,
    crashes=0,
    releases=0,
    owner="",
    claim="",
    solo=False,
    progress="",
    reason="",
    dead=False,
)

STEPS = [
    (f"5 claimed {CLAIM}", "claimed by worker 3 on h (pid 4711, incarnation 01234567), delivery 2"),
    ("5 claimed 1:gone:1", "claimed by worker gone, delivery 1"),
    (f"5 settled completed 2 {CLAIM} ", "turn 2 completed"),
    (f"5 settled failed 1 {CLAIM} ValueError: x", "failed: ValueError: x"),
    (f"5 settled exhausted 1 {CLAIM} ValueError", "failed at its last attempt and is now a dead letter: ValueError"),
    (f"5 settled input-required 1 {CLAIM} ", "turn 1 asks for input"),
    (f"5 settled unreadable 1 {CLAIM} too deep", "rejected because its operation cannot be read: too deep"),
    (f"5 retry {CLAIM} ValueError", "failed, will be retried: ValueError"),
    (f"5 release {CLAIM} drain", "returned unfinished: drain; put back at the head of its lane"),
    (f"5 defer {CLAIM} ", "not started: its worker had no free slot"),
    (f"5 suspended {CLAIM} pause", "paused: pause"),
    (
        f"5 crashed 1 signal: SIGKILL {CLAIM}",
        "its worker died: signal: SIGKILL; put back at the head of its lane (crash 1)",
    ),
    (f"5 crashed 2 exit 3 {CLAIM}", "its worker died: exit 3; from now on it runs in quarantine (crash 2)"),
    (f"5 crashed 3 exit 3 {CLAIM}", "its worker died: exit 3 (crash 3)"),
    ("5 suspected 3 recoveries", "its worker was lost 3 times in a row; from now on it runs in quarantine"),
    ("5 cleared p1", "its crashes beside p1 no longer count: p1 ended a worker again when it ran alone"),
    (
        f"5 recovered lapsed {CLAIM}",
        "its worker was lost: lapsed; put back at the head of its lane, not counted as a crash",
    ),
    (f"5 returned {CLAIM}", "its worker no longer ran it; put back at the head of its lane"),
    (f"5 returned {CLAIM} drain", "given back before it had begun: drain; put back at the head of its lane"),
    ("1700000000000 delayed 1700000005000", "waits until 2023-11-14T22:13:25.000Z (5s)"),
    ("5 promoted ", "due: may be claimed"),
    ("5 promoted by hand", "due at once: by hand"),
    ("5 put-back its entry was taken from the lane", "put back into its lane: its entry was taken from the lane"),
    ("5 message m2", "continues with message m2"),
    ("5 message-waits m2", "message m2 was received and waits until this turn has ended"),
    ("5 joined 2 m2", "message m2 joined the turn that a pause had interrupted, as message 2 of the task"),
    ("5 turn m2", "the next turn begins with message m2, which had waited"),
    ("5 pause-asked x", "asked to pause: x"),
    ("5 pause-withdrawn x", "the pause was withdrawn: x"),
    ("5 resumed x", "resumed: x"),
    ("5 canceled ", "canceled"),
    ("5 dead-letter 4 crashes", "failed after 4 crashes and is now a dead letter"),
    ("5 retried t1.r1 by hand", "retried as t1.r1: by hand"),
    ("5 retry-of t1", "repeats the request of t1"),
    ("5 step 2 fetch the page", "step 2 is recorded: fetch the page"),
    (f"5 step 3 {SLEEP}", "step 3 is a sleep"),
    (f"5 step 4 {QUESTION}Which region?", "step 4 is question 'Which region?'"),
    ("5 step 6 fetch", "step 6 is recorded: fetch"),
    (f"5 step 5 {ANSWER}", "step 5 is an answer"),
    (f"5 sleep {CLAIM} ", "sleeps, and has given its slot back"),
    ("5 waits 1", "waits for 1 task to end"),
    ("5 waits 12", "waits for 12 tasks to end"),
    ("5 ready ", "all tasks that it waited for have ended"),
    (
        "5 refused its unique key is held by task t0",
        "rejected, because Redis, which was away when the task was accepted, could not take it: "
        "its unique key is held by task t0",
    ),
    ("5 parent-failed t0 canceled", "failed because it waited for t0, which was canceled"),
    ("5 parent-failed t0 failed", "failed because it waited for t0, which failed"),
    ("5 expired expired", "expired: no worker claimed it in time"),
    (
        "5 unknown-handler mail.send",
        "set aside until a worker with handler mail.send claims it: the worker that read it has none",
    ),
    ("5 unserved no worker came", "failed and is now a dead letter: no worker came"),
    ("5 restored submitted 2", "put back from PostgreSQL, submitted in turn 2"),
    ("5 danced with wolves", "danced with wolves"),
]


@pytest.mark.parametrize(("line", "sentence"), STEPS, ids=[line[:25] for line, _ in STEPS])
def test_a_step_in_words(line: str, sentence: str) -> None:
    assert words(read_step(line), KNOWN) == sentence


def test_every_event_has_words() -> None:
    assert {read_step(line).event for line, _ in STEPS} >= LAYOUTS.keys()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"5 crashed 1 exit 3 {CLAIM}", "its worker died: exit 3 (crash 1)"),
        (f"5 recovered lapsed {CLAIM}", "its worker was lost: lapsed, not counted as a crash"),
        (f"5 release {CLAIM} drain", "returned unfinished: drain"),
        (f"5 returned {CLAIM}", "its worker no longer ran it"),
    ],
)
@pytest.mark.parametrize("followed", ["5 suspended wait", "5 suspected 3 recoveries"])
def test_what_did_not_go_back_to_its_lane_is_not_said_to(line: str, sentence: str, followed: str) -> None:
    events = events_of([read_step(line), read_step(followed)])
    assert words(read_step(line), replace(KNOWN, events=events)) == sentence


def test_a_suspect_goes_back_among_the_suspects() -> None:
    known = TaskHistory({INCARNATION: replace(WORKER, kind=WorkerKind.QUARANTINE)})
    assert "put back among the suspects of its lane" in words(read_step(f"5 recovered drain {CLAIM}"), known)


@pytest.mark.parametrize(("died", "later"), [(1_000, " 7ms later"), (1_009, " 0ms later"), (3_000, "")])
def test_a_recovery_tells_how_long_after_the_death_it_was(died: int, later: str) -> None:
    known = TaskHistory({}, {INCARNATION: died})
    assert words(read_step(f"1007 crashed 1 x {CLAIM}"), known).endswith(f"at the head of its lane{later} (crash 1)")
    assert f"its lane{later}, not" in words(read_step(f"1007 recovered x {CLAIM}"), known)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, "accepted into lane high: submitted through Holdfast"),
        ({"origin": "foreign"}, "accepted into lane high: pushed to the list by another program"),
        ({"origin": "retry", "retry_of": "t0"}, "accepted into lane high: a retry of t0"),
    ],
)
def test_a_beginning_in_words(more: dict[str, Any], sentence: str) -> None:
    assert beginning(replace(TASK, **more)) == sentence


def test_parents_in_words_begin_with_those_that_did_not_complete() -> None:
    parents = [
        *(ParentResult(f"p{n}", State.COMPLETED, size=9) for n in range(5)),
        ParentResult("failed", State.FAILED, reason="ValueError: x"),
        ParentResult("runs", State.WORKING, has_ended=False),
        ParentResult("lost", None),
    ]
    assert parent_words(parents).split("; ") == [
        "failed failed: ValueError: x",
        "runs has not ended (working)",
        "lost gone",
        "p0 completed",
        "p1 completed",
        "and 3 others",
    ]
    assert parent_documents(parents[-1:]) == [
        {"task_id": "lost", "state": "gone", "has_ended": True, "reason": "", "bytes": 0}
    ]


SERVED = ServedState("high", "", living=2, in_lane=2, able=2)
UNSERVED = ServedState("high", "", living=0, in_lane=0, able=0)
START = "no worker runs: supervisor start"


def facts(task: dict[str, Any], **more: Any) -> TaskSnapshot:
    known = {"steps": (), "now_ms": NOW, "keep_ms": 86_400_000, "max_attempts": 3} | more
    return TaskSnapshot(replace(TASK, **task), **known)


WORKING = {"state": State.WORKING, "owner": INCARNATION, "claim": CLAIM, "attempts": 1, "runs": 2}
CLAIMED = {"steps": (TrailStep(NOW - 12_000, "claimed", claim=CLAIM),)}
IN_WORKER = "runs in worker 3 on h (pid 4711, incarnation 01234567)"
ENDED = {"state": State.FAILED, "finished_ms": NOW - 3_000, "reason": "ValueError: x"}
KEPT = "kept until 2023-11-15T22:14:57.000Z"

ASLEEP = [f"5 claimed {CLAIM}", f"5 step 1 {SLEEP}", f"6 sleep {CLAIM} ", "6 delayed 9"]

RUNNING = BatchRecord("b", BatchCounts(total=3, open=2, completed=1), 0, NOW, NOW, None, None)

NEXT = [
    (facts({}, place=PlaceInLane(0, True)), "is the next in lane high"),
    (facts({}, place=PlaceInLane(1, True)), "waits in lane high, 1 entry before it"),
    (facts({}, place=PlaceInLane(17, True)), "waits in lane high, 17 entries before it"),
    (facts({}, place=PlaceInLane(10_000, False)), "waits in lane high, at least 10000 entries before it"),
    (
        facts({}, place=PlaceInLane(None, True)),
        "waits in lane high, but another program took its entry from the list: a steward will put it back",
    ),
    (facts({}), "waits in lane high"),
    (facts({}, place=PlaceInLane(0, True), service=SERVED), "is the next in lane high"),
    (facts({}, place=PlaceInLane(0, True), service=UNSERVED), f"is the first in lane high; {START}"),
    (
        facts(
            {}, place=PlaceInLane(0, True), held_up=("no host claims a task (x): supervisor resume",), service=SERVED
        ),
        "is the first in lane high; no host claims a task (x): supervisor resume",
    ),
    (
        facts({}, held_up=("no host claims a task",), service=replace(UNSERVED, paused="repairs", unserved_ms=0)),
        "waits in lane high; lane high is paused (repairs): supervisor lanes resume high; no host claims a task"
        f"; {START}",
    ),
    (
        facts({"solo": True, "crashes": 2}, place=PlaceInLane(0, True)),
        "waits for quarantine because it ended its worker twice",
    ),
    (
        facts({"solo": True, "crashes": 3}, place=PlaceInLane(1, True)),
        "waits for quarantine because it ended its worker 3 times, 1 other suspect of lane high before it",
    ),
    (
        facts({"solo": True, "crashes": 1}, place=PlaceInLane(0, True)),
        "waits for quarantine because three of its workers in a row were lost",
    ),
    (
        facts({"solo": True, "crashes": 2}, place=PlaceInLane(0, True), held_back="the supervisor is draining"),
        "waits for quarantine because it ended its worker twice"
        "; the supervisor on this host starts no quarantine worker: the supervisor is draining",
    ),
    (facts({"state": State.DELAYED, "due_ms": NOW + 5_100}), "due in 5.1s"),
    (
        facts({"state": State.DELAYED, "due_ms": NOW + 5_100, "solo": True, "crashes": 2}),
        "due in 5.1s, in quarantine because it ended its worker twice",
    ),
    (
        facts({"state": State.DELAYED, "due_ms": NOW + 50, "attempts": 1, "runs": 1, "reason": "ValueError"}),
        "due in 50ms, run 2, attempt 2 of 3: ValueError",
    ),
    *(
        (
            facts({"state": State.DELAYED, "due_ms": NOW + 5_100}, steps=tuple(map(read_step, trail))),
            "sleeps until 2023-11-14T22:15:05.100Z (5.1s), then its handler goes on behind the sleep",
        )
        for trail in (ASLEEP, [*ASLEEP, "7 restored delayed 1", "7 delayed 9"])
    ),
    (
        facts({"state": State.DELAYED, "due_ms": NOW + 5_100}, steps=(*map(read_step, ASLEEP), read_step("8 retry x"))),
        "due in 5.1s",
    ),
    (
        facts({"state": State.DELAYED, "due_ms": NOW - 2_000}),
        "due since 2s: a steward, or the next pull, submits it",
    ),
    (
        facts({"state": State.WAITING, "waits_for": ("t0",)}, parents=(facts({}).task,)),
        "waits until t1 (submitted) has ended",
    ),
    (
        facts(
            {"state": State.WAITING, "waits_for": ("a", "b", "c"), "if_parent_fails": "run", "expires_ms": NOW + 2_000},
            parents=(facts({}).task,),
        ),
        "waits until t1 (submitted) and 2 others have ended; it runs even if one does not complete"
        "; expires in 2s unless a worker claims it first",
    ),
    (
        facts({"state": State.WAITING, "batch": "b", "is_callback": True}, batch=RUNNING),
        "waits until batch b (2 of 3 tasks open) has ended",
    ),
    (
        facts({"state": State.WAITING, "batch": "b", "is_callback": True}, batch=replace(RUNNING, ended_ms=NOW)),
        "all that it waited for has ended; it is submitted next",
    ),
    (
        facts({"state": State.WAITING, "waits_for": ("t0",), "batch": "b"}, parents=(facts({}).task,), batch=RUNNING),
        "waits until t1 (submitted) has ended; a task of batch b: 2 of 3 tasks open",
    ),
    (facts({"expires_ms": NOW - 1}), "waits in lane high; has expired"),
    (facts({"expires_ms": NOW - 1, "deliveries": 1}), "waits in lane high"),
    (facts(WORKING, **CLAIMED, owner=WORKER), f"{IN_WORKER} for 12s, run 2, attempt 2 of 3"),
    (facts({**WORKING, "max_attempts": 9}, owner=WORKER), f"{IN_WORKER}, run 2, attempt 2 of 9"),
    (facts({**WORKING, "attempts": 3}, owner=WORKER), f"{IN_WORKER}, run 2, attempt 4"),
    (
        facts({**WORKING, "solo": True, "crashes": 2, "progress": "3/4"}, owner=WORKER),
        f"{IN_WORKER}, run 2, attempt 2 of 3, in quarantine because it ended its worker twice, progress 3/4",
    ),
    (
        facts(WORKING, owner=replace(WORKER, state="draining")),
        f"{IN_WORKER}, run 2, attempt 2 of 3; that worker is draining",
    ),
    (
        facts(WORKING, owner=replace(WORKER, beat_ago_ms=9_000)),
        f"{IN_WORKER}, run 2, attempt 2 of 3; that worker has sent no heartbeat for 9s:"
        " a steward will put the task back when its lease ends",
    ),
    (
        facts(WORKING),
        f"runs in worker {INCARNATION}, run 2, attempt 2 of 3; that worker is unknown to the store:"
        " a steward will put the task back when its lease ends",
    ),
    (
        facts({**WORKING, "pending": 2}, owner=WORKER),
        f"{IN_WORKER}, run 2, attempt 2 of 3; 2 messages for it wait until this turn has ended",
    ),
    (
        facts({"state": State.INPUT_REQUIRED}),
        "waits for input: it continues with a message (supervisor submit --task-id t1 TEXT)",
    ),
    (
        facts({"state": State.AUTH_REQUIRED}),
        "waits for authorization: it continues with a message (supervisor submit --task-id t1 TEXT)",
    ),
    (
        facts({"state": State.SUSPENDED, "reason": "lunch"}),
        "is paused: lunch; it continues when it is resumed or gets a message",
    ),
    (facts({**ENDED, "state": State.COMPLETED}), f"completed 3s ago; {KEPT}"),
    (facts(ENDED), f"failed 3s ago: ValueError: x; {KEPT}"),
    (facts(ENDED, are_registered=False), f"failed 3s ago: ValueError: x; {KEPT} by the settings of this command"),
    (facts({**ENDED, "state": State.REJECTED}), f"rejected 3s ago: ValueError: x; {KEPT}"),
    (facts({**ENDED, "state": State.CANCELED, "reason": ""}), f"canceled 3s ago; {KEPT}"),
    (
        facts({**ENDED, "dead": True}),
        f"failed 3s ago: ValueError: x; {KEPT}; a dead letter: supervisor tasks retry t1 runs it again",
    ),
    (facts({**ENDED, "retried_as": "t1.r1"}), f"failed 3s ago: ValueError: x; {KEPT}; runs again as t1.r1"),
]


@pytest.mark.parametrize(("known", "sentence"), NEXT, ids=[sentence[:60] for _, sentence in NEXT])
def test_what_is_and_what_will_be_in_words(known: TaskSnapshot, sentence: str) -> None:
    assert outlook(known) == sentence


def test_every_state_has_words() -> None:
    assert {known.task.state for known, _ in NEXT} == set(State)
