"""Quarantine workers: how many are forked while suspects wait, what holds them back, and that the pool does not count
them."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from holdfast.ipc.channel import Beat, BootFailed, Born, Died, Drain, Ready, SuspectsWaiting
from holdfastd.cli.supervisor_status import suspect_words
from holdfastd.control.socket_protocol import QuarantineStatus
from holdfastd.core import quarantine as rules
from holdfastd.core import reload
from holdfastd.core.capacity import Host
from holdfastd.core.parent_events import ReloadAsked, ScaleAsked, StopAsked
from holdfastd.core.slots import SUSPECTS_FRESH, Child, ChildKind, Forking, Slot
from holdfastd.parent.status import summary
from tests.core.histories import STEWARD, TERM, History, events_logged, forks, kills, quarantine, sent, worker

Q = quarantine(0)
QUIET = "quiet: supervisor resume"


def tell(history: History, startable: int, alone: int = 0, *, quiet: str = "") -> list[Slot]:
    """The steward tells; what is forked in the two turns after that."""
    before = len(history.done)
    history.hear(STEWARD, SuspectsWaiting(startable, alone, quiet))
    history.tick()
    history.tick()
    return forks(history.done[before:])


def wait_while(history: History, startable: int, seconds: float, alone: int = 0) -> list[Slot]:
    """Time in which so many suspects wait all the while."""
    before = len(history.done)
    for _ in range(round(seconds)):
        tell(history, startable, alone)
        history.pass_time(1.0)
    return forks(history.done[before:])


def run(history: History, slot: Slot, *tasks: str) -> None:
    if history.child(slot).ready_at is None:
        history.hear(slot, Ready())
    history.hear(slot, Beat(list(tasks), 0))


@pytest.mark.parametrize(("workers", "suspects", "forked"), [(1, 1, 1), (3, 9, 1), (8, 1, 1), (8, 9, 2), (50, 99, 12)])
def test_as_many_as_suspects_wait_up_to_a_quarter_of_the_pool_and_at_least_one(
    workers: int, suspects: int, forked: int
) -> None:
    history = History(workers).started()
    assert tell(history, suspects) == [quarantine(number) for number in range(forked)]
    assert wait_while(history, suspects, 5) == []


def test_none_is_forked_while_no_suspect_may_start() -> None:
    history = History(8).started()
    assert tell(history, 0) == []
    assert history.quarantined() == []


def test_one_that_has_begun_its_suspect_needs_no_second() -> None:
    history = History(8).started()
    assert tell(history, 1) == [Q]
    run(history, Q, "a")
    history.pass_time(SUSPECTS_FRESH - 1)
    assert history.quarantined() == [Q]


def test_those_that_run_and_those_that_wait_get_one_each() -> None:
    history = History(12).started()
    tell(history, 1)
    run(history, Q, "a")
    assert tell(history, 1) == [quarantine(1)]
    run(history, quarantine(1), "b")
    assert tell(history, 4) == [quarantine(2)]


def test_suspects_by_recoveries_get_one_for_all_of_them_and_none_beside_another() -> None:
    history = History(16).started()
    assert wait_while(history, 3, 3, alone=3) == [Q]
    run(history, Q, "a")
    assert wait_while(history, 2, 3, alone=2) == []
    assert tell(history, 3, alone=2) == [quarantine(1)]


def test_a_number_that_no_steward_repeats_is_forgotten() -> None:
    history = History(8).started()
    without_room(history)
    tell(history, 1)
    history.pass_time(SUSPECTS_FRESH)
    history.host = Host()
    history.pass_time(5.0)
    assert history.quarantined() == []


def test_one_that_finds_no_suspect_ends_and_is_forked_again_only_for_another() -> None:
    history = History(8).started()
    tell(history, 1)
    history.hear(Q, Ready())
    tell(history, 0)
    history.leave(Q)
    history.pass_time(40.0)
    assert Q not in history.view.seats
    assert history.view.death_count == 0
    assert tell(history, 1) == [Q]


def test_the_pool_counts_no_quarantine_worker() -> None:
    history = History(4).started()
    tell(history, 1)
    before = summary(history.view)
    history.hear(Q, Ready())
    history.pass_time(5.0)
    assert summary(history.view) == before == "running: 4 of 4 workers ready, 0 tasks running"
    assert history.workers() == [worker(number) for number in range(4)]
    history.die(worker(3), -signal.SIGKILL)
    assert history.view.child(worker(3)) is not None


def test_a_quarantine_worker_makes_no_service_ready_and_no_code_proven() -> None:
    history = History(4).started()
    tell(history, 1)
    history.event(ReloadAsked())
    history.tick()
    assert history.view.reload is not None
    history.hear(Q, Ready())
    assert not history.view.reload.proven


def test_the_end_by_its_suspect_is_charged_and_no_young_death() -> None:
    history = History(4).started()
    tell(history, 2)
    for _ in range(30):
        run(history, Q, "poison")
        incarnation = history.child(Q).incarnation
        commands = history.die(Q, -signal.SIGKILL)
        assert any(isinstance(each, Died) and each.incarnation == incarnation for each in sent(commands, STEWARD))
        assert forks(commands) == [Q]
        tell(history, 2)
    assert not history.view.breaker.deaths
    assert history.view.deaths[-1].child.running == ("poison",)


def test_one_that_dies_before_it_is_ready_backs_off_in_its_own_seat_and_ends_no_service() -> None:
    history = History(4).started()
    tell(history, 1)
    waits: list[float] = []
    for _ in range(6):
        began = history.now
        history.hear(Q, BootFailed(78, "no agent"))
        history.die(Q, 78)
        while history.view.child(Q) is None:
            tell(history, 1)
            history.pass_time(0.1)
        waits.append(history.now - began)
    assert waits == pytest.approx([0.5, 1, 2, 4, 8, 16], abs=0.3)
    assert not history.view.breaker.deaths
    assert not history.view.boot_failures
    assert history.view.stopping is None
    assert len(history.workers()) == 4


def test_one_that_dies_young_with_nothing_in_hand_backs_off_too() -> None:
    history = History(4).started()
    tell(history, 1)
    history.hear(Q, Ready())
    history.die(Q, 1)
    assert tell(history, 1) == []
    assert rules.held_back(history.view, history.now) == "a quarantine worker could not start: exit: status 1"
    assert wait_while(history, 1, 2) == [Q]


def test_a_seat_that_backs_off_is_closed_when_no_suspect_waits_any_more() -> None:
    history = History(4).started()
    tell(history, 1)
    history.die(Q, 1)
    assert Q in history.view.seats
    tell(history, 0)
    assert Q not in history.view.seats


def test_a_seat_that_backs_off_is_not_filled_while_something_holds_it_back() -> None:
    history = History(4).started()
    tell(history, 1)
    history.die(Q, 1)
    quiet(history)
    history.pass_time(3.0)
    assert history.quarantined() == []


def draining(history: History) -> None:
    history.event(StopAsked())


def quiet(history: History) -> None:
    tell(history, 1, quiet=QUIET)


def breaker_open(history: History) -> None:
    while not history.view.breaker.is_open:
        for slot in history.workers():
            history.die(slot, 1)
        history.pass_time(1.0)


def canary_unproven(history: History) -> None:
    history.event(ReloadAsked())
    history.tick()


def without_room(history: History) -> None:
    history.host = Host(group_processes=8)


HELD_BACK: list[tuple[Callable[[History], None], str]] = [
    (draining, "the supervisor is draining"),
    (quiet, f"this host is {QUIET}"),
    (breaker_open, "workers are in a crash loop: exit: status 1"),
    (canary_unproven, "a reload has not shown yet that its code works"),
    (
        without_room,
        "this host has no room for it: its control group may have 8 more processes; raise pids.max (TasksMax=)",
    ),
]


@pytest.mark.parametrize(("holds", "why"), HELD_BACK)
def test_while_something_holds_it_back_none_is_forked_and_that_is_said(
    holds: Callable[[History], None], why: str
) -> None:
    history = History(4).started()
    holds(history)
    history.hear(STEWARD, SuspectsWaiting(1, 0, QUIET if holds is quiet else ""))
    history.tick()
    history.tick()
    assert Q not in history.view.seats
    assert rules.held_back(history.view, history.now) == why


def test_before_the_first_worker_of_the_pool_is_ready_none_is_forked() -> None:
    history = History(1)
    history.tick()
    history.hear(STEWARD, Ready())
    assert Q not in tell(history, 1)
    assert rules.held_back(history.view, history.now) == "no worker of the pool has been ready yet"
    history.hear(worker(0), Ready())
    assert tell(history, 1) == [Q]


def test_nothing_is_held_back_where_no_suspect_waits_or_all_that_there_may_be_are_at_work() -> None:
    history = History(4).started()
    without_room(history)
    assert rules.held_back(history.view, history.now) == ""
    history.host = Host()
    tell(history, 1)
    run(history, Q, "a")
    tell(history, 5)
    assert rules.held_back(history.view, history.now) == ""


def test_as_many_are_forked_as_the_host_has_room_for() -> None:
    history = History(16).started()
    history.host = Host(group_processes=10)
    assert tell(history, 4) == [Q, quarantine(1)]
    assert "no room" in rules.held_back(history.view, history.now)


def test_a_host_without_room_is_measured_again_each_second() -> None:
    history = History(4).started()
    without_room(history)
    wait_while(history, 1, 3)
    history.host = Host()
    assert wait_while(history, 1, 2) == [Q]


def test_a_refused_fork_is_tried_again_after_a_while() -> None:
    history = History(4).started()
    history.fork_fails = True
    tell(history, 1)
    assert rules.held_back(history.view, history.now) == "a quarantine worker could not start: cannot fork: EAGAIN"
    history.fork_fails = False
    assert wait_while(history, 1, 2) == [Q]


def test_on_a_reload_it_finishes_its_task_and_ends_once_the_new_code_is_proven() -> None:
    history = History(4).started()
    tell(history, 1)
    run(history, Q, "a")
    before = len(history.done)
    history.event(ReloadAsked())
    history.tick()
    assert sent(history.done[before:], Q) == []
    history.hear(Slot(ChildKind.WORKER, 4), Ready())
    commands = history.tick()
    (asked,) = sent(commands, Q)
    assert isinstance(asked, Drain)
    assert summary(history.view).endswith("1 task running")
    assert reload.draining(history.view) == 1
    assert asked.deadline > history.now + 86400
    tell(history, 0)
    history.leave(Q)
    assert Q not in history.view.seats
    assert not history.view.cut_off


def test_a_reload_that_fails_leaves_it_alone() -> None:
    history = History(4).started()
    tell(history, 1)
    run(history, Q, "a")
    before = len(history.done)
    history.event(ReloadAsked())
    history.tick()
    history.boot_failed(Slot(ChildKind.WORKER, 4))
    assert "reload failed: the old code goes on serving" in events_logged(history.done)
    assert sent(history.done[before:], Q) == []


def test_a_smaller_pool_has_fewer_and_the_idle_go_first() -> None:
    history = History(12).started()
    tell(history, 3)
    for number in range(3):
        run(history, quarantine(number), *(["a"] if number == 1 else []))
    history.event(ScaleAsked(4))
    history.tick()
    asked = [slot for slot in history.quarantined() if history.child(slot).leaving is not None]
    assert asked == [Q, quarantine(2)]


def test_one_that_leaves_counts_until_it_has_gone() -> None:
    history = History(4).started()
    tell(history, 1)
    run(history, Q, "a")
    history.hear(Q, Beat(["a"], 0, recycle_reason="old"))
    assert wait_while(history, 1, 3) == []
    assert history.child(Q).leaving is not None


def test_a_drain_asks_it_together_with_the_pool_and_counts_what_it_cuts_off() -> None:
    history = History(2).started()
    tell(history, 1)
    run(history, Q, "a")
    history.event(TERM)
    history.tick()
    assert all(isinstance(sent(history.done, slot)[-1], Drain) for slot in (Q, *history.workers()))
    for slot in history.workers():
        history.leave(slot)
    assert forks(history.die(STEWARD, -signal.SIGKILL)) == [STEWARD]
    history.hear(STEWARD, Ready())
    before = len(history.done)
    history.event(TERM)
    (hastened,) = sent(history.done[before:], Q)
    assert isinstance(hastened, Drain)
    assert hastened.cancel_at == history.now
    history.pass_time(20.0)
    assert kills(history.done[before:], Q) == [signal.SIGCONT, signal.SIGABRT, signal.SIGKILL]
    history.die(Q, -signal.SIGKILL)
    assert history.view.cut_off == 1
    history.leave(STEWARD)
    history.tick()
    assert history.view.over == 75


def test_a_new_steward_is_told_of_it() -> None:
    history = History(2).started()
    tell(history, 1)
    life = history.child(Q).incarnation
    assert Born(life) in sent(history.done, STEWARD)
    commands = history.die(STEWARD, -signal.SIGKILL)
    assert life in [getattr(message, "incarnation", "") for message in sent(commands, STEWARD)]


def test_seats_are_never_more_than_the_bound_while_forks_are_under_way() -> None:
    history = History(8).started()
    wait_while(history, 50, 3)
    seats = [seat for slot, seat in history.view.seats.items() if slot.kind is ChildKind.QUARANTINE]
    assert len([seat for seat in seats if isinstance(seat, Child | Forking)]) == 2


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (QuarantineStatus(), ""),
        (QuarantineStatus(1, 1), "quarantine: 1 suspect waits; 1 quarantine worker runs one at a time"),
        (QuarantineStatus(5, 2), "quarantine: 5 suspects wait; at most 2 quarantine workers run one at a time"),
        (
            QuarantineStatus(5, 2, "the supervisor is draining"),
            "quarantine: 5 suspects wait; none is started: the supervisor is draining",
        ),
    ],
)
def test_what_the_status_says_of_suspects(status: QuarantineStatus, line: str) -> None:
    assert suspect_words(status) == line
