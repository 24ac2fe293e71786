"""Children that say nothing, and those somebody stopped."""

from __future__ import annotations

import signal

import pytest

from holdfast.ipc.channel import Beat, Ready, Silent
from holdfastd.core.parent_events import ChildStopped
from holdfastd.core.slots import Slot, SupervisionPolicy
from tests.core.histories import STEWARD, STORE, TERM, History, events_logged, kills, sent, worker

W = worker(0)


@pytest.mark.parametrize("slot", [W, STEWARD])
def test_a_silent_child_has_its_stacks_dumped_once(slot: Slot) -> None:
    history = History(2).started()
    assert kills(history.pass_time(4.9, silent=[slot])) == []
    assert kills(history.pass_time(50.0, silent=[slot])) == [signal.SIGUSR1]


def test_one_that_speaks_again_is_dumped_again_when_it_falls_silent_again() -> None:
    history = History(1).started()
    history.pass_time(20.0, silent=[W])
    history.hear(W, Beat())
    assert kills(history.pass_time(20.0, silent=[W])) == [signal.SIGUSR1]


@pytest.mark.parametrize("slot", [W, STEWARD])
def test_a_child_silent_for_the_hang_timeout_is_aborted_then_killed(slot: Slot) -> None:
    history = History(1).started()
    assert kills(history.pass_time(59.9, silent=[slot])) == [signal.SIGUSR1]
    assert kills(history.pass_time(1.5, silent=[slot])) == [signal.SIGABRT]
    assert kills(history.pass_time(2.0, silent=[slot])) == [signal.SIGKILL]
    assert kills(history.pass_time(60.0, silent=[slot])) == []


def test_a_booting_child_is_left_alone_until_the_boot_limit() -> None:
    history = History(2, SupervisionPolicy(hang_timeout=10.0, boot_timeout=60.0)).started()
    history.die(W, -signal.SIGKILL)
    assert kills(history.pass_time(59.9)) == []
    assert kills(history.pass_time(2.0)) == [signal.SIGABRT]
    history.die(W, -signal.SIGABRT)
    assert history.cause() == "boot failure: not ready in time, SIGABRT"


def test_a_booting_child_that_reports_is_waiting_and_not_hung() -> None:
    """As a worker does while the store is away."""
    history = History(2).started()
    history.die(W, -signal.SIGKILL)
    for _ in range(10):
        history.hear(W, Beat([], 0, "the store is away"))
        assert kills(history.pass_time(59.0)) == []


def test_a_parent_that_was_late_accuses_nobody() -> None:
    history = History(2).started()
    commands = history.tick(after=300.0)
    assert kills(commands) == []
    assert events_logged(commands) == ["the parent was delayed: this round of checks is skipped"]
    assert kills(history.pass_time(61.5, silent=[W])) == [signal.SIGUSR1, signal.SIGABRT]


def test_a_store_has_no_beat_and_is_not_missed() -> None:
    history = History(1, SupervisionPolicy(embedded=True)).started()
    assert kills(history.pass_time(600.0), STORE) == []


def test_a_store_that_never_serves_meets_the_boot_limit() -> None:
    history = History(1, SupervisionPolicy(embedded=True))
    history.tick()
    assert kills(history.pass_time(63.0), STORE) == [signal.SIGKILL]


@pytest.mark.parametrize("slot", [W, STEWARD, STORE])
def test_a_stopped_child_is_continued_at_once(slot: Slot) -> None:
    history = History(1, SupervisionPolicy(embedded=True)).started()
    assert kills(history.event(ChildStopped(slot, history.child(slot).incarnation)), slot) == [signal.SIGCONT]


def test_a_stopped_child_that_is_not_heard_of_is_killed_after_half_a_minute() -> None:
    history = History(1).started()
    for _ in range(3):
        history.event(ChildStopped(W, history.child(W).incarnation))
        history.pass_time(8.0, silent=[W])
    assert signal.SIGKILL not in kills(history.done)
    assert signal.SIGKILL in kills(history.pass_time(8.0, silent=[W]))
    history.die(W, -signal.SIGKILL)
    assert history.cause() == "stopped: not heard of since, SIGKILL"


def test_a_stopped_child_that_goes_on_is_left_alone() -> None:
    history = History(1).started()
    history.event(ChildStopped(W, history.child(W).incarnation))
    assert kills(history.pass_time(60.0)) == []


def test_a_draining_child_has_the_time_of_its_drain() -> None:
    history = History(1, SupervisionPolicy(drain_timeout=300.0)).started()
    history.hear(W, Beat(["task"]))
    history.event(TERM)
    history.tick()
    assert signal.SIGABRT not in kills(history.pass_time(290.0, silent=[W]), W)


def test_a_hung_child_that_becomes_ready_late_is_not_saved_twice() -> None:
    """Ready again is no news: a child has one boot."""
    history = History(1).started()
    ready_at = history.child(W).ready_at
    history.pass_time(3.0)
    history.hear(W, Ready())
    assert history.child(W).ready_at == ready_at


def test_the_steward_is_told_each_second_of_a_worker_that_is_silent() -> None:
    history = History(2).started()
    assert sent(history.pass_time(4.9, silent=[W]), STEWARD) == []
    assert sent(history.pass_time(3.0, silent=[W], every=0.1), STEWARD) == [Silent(history.child(W).incarnation)] * 3
    history.hear(W, Beat())
    assert sent(history.pass_time(4.9, silent=[W]), STEWARD) == []


@pytest.mark.parametrize("slot", [STEWARD, STORE])
def test_the_steward_is_told_of_no_other_child_that_is_silent(slot: Slot) -> None:
    history = History(1, SupervisionPolicy(embedded=True)).started()
    assert sent(history.pass_time(20.0, silent=[slot]), STEWARD) == []
