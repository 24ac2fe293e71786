"""More and fewer workers, and what the steward is told of them."""

from __future__ import annotations

import signal

import pytest

from holdfast.ipc.channel import Beat, Born, Died, Drain
from holdfastd.core.commands import Command
from holdfastd.core.parent_events import ScaleAsked, Signalled
from holdfastd.core.scale import refusal
from holdfastd.core.slots import Slot
from tests.core.histories import STEWARD, TERM, History, events_logged, forks, sent, worker

W = worker(0)


def asked(commands: list[Command], history: History) -> list[Slot]:
    return [slot for slot in history.workers() if any(isinstance(each, Drain) for each in sent(commands, slot))]


def scale(history: History, workers: int) -> list[Command]:
    before = len(history.done)
    history.event(ScaleAsked(workers))
    history.tick()
    return history.done[before:]


def test_up_forks_the_missing() -> None:
    history = History(2).started()
    assert forks(scale(history, 4)) == [worker(2), worker(3)]


def test_down_takes_the_idle_first() -> None:
    history = History(4).started()
    history.hear(worker(3), Beat(["task"]))
    history.hear(worker(1), Beat(["task"]))
    assert asked(scale(history, 2), history) == [worker(0), worker(2)]


def test_down_takes_those_that_boot_before_the_idle() -> None:
    history = History(3).started()
    history.die(worker(0), -signal.SIGKILL)
    assert asked(scale(history, 2), history) == [worker(0)]


def test_down_drops_an_empty_seat_first() -> None:
    history = History(3).started()
    history.fork_fails = True
    history.die(worker(1), -signal.SIGKILL)
    history.fork_fails = False
    assert asked(scale(history, 2), history) == []
    assert forks(history.pass_time(10.0)) == []


def test_a_busy_worker_that_is_too_many_has_the_drain_timeout() -> None:
    history = History(2).started()
    history.hear(W, Beat(["task"]))
    history.hear(worker(1), Beat(["a", "b"]))
    (message,) = sent(scale(history, 1), W)
    assert message == Drain(history.now + 85.0, history.now + 90.0)


def test_one_that_was_too_many_is_not_replaced() -> None:
    history = History(2).started()
    scale(history, 1)
    history.leave(worker(1))
    assert forks(history.pass_time(60.0)) == []
    assert history.workers() == [W]


def test_up_again_while_one_still_leaves_opens_another_slot() -> None:
    history = History(2).started()
    history.hear(worker(1), Beat(["task"]))
    history.hear(worker(0), Beat(["task"]))
    scale(history, 1)
    assert forks(scale(history, 2)) == [worker(2)]


@pytest.mark.parametrize(("number", "target"), [(signal.SIGTTIN, 3), (signal.SIGTTOU, 1)])
def test_terminal_signals_scale_by_one(number: int, target: int) -> None:
    history = History(2).started()
    history.event(Signalled(number))
    assert history.view.target == target


@pytest.mark.parametrize("workers", [0, -1, 10_001])
def test_an_impossible_size_is_refused_in_words(workers: int) -> None:
    history = History(1).started()
    assert refusal(history.view, workers) == f"workers is {workers}; it must be between 1 and 10000"
    assert events_logged(history.event(ScaleAsked(workers))) == ["scaling refused"]
    assert history.view.target == 1


def test_scaling_is_refused_while_draining() -> None:
    history = History(1).started()
    history.event(TERM)
    assert refusal(history.view, 2) == "the supervisor is draining"


def test_a_death_is_told_until_it_is_acknowledged() -> None:
    history = History(1).started()
    incarnation = history.child(W).incarnation
    died = Died(incarnation, "signal: SIGKILL", True, at=history.now)
    assert died in sent(history.die(W, -signal.SIGKILL), STEWARD)
    assert sent(history.pass_time(25.0), STEWARD) == [died, died]
    assert events_logged(history.acknowledge(incarnation)) == ["recovered"]
    assert sent(history.pass_time(60.0), STEWARD) == []


def test_a_new_steward_is_told_of_the_living_and_of_all_unacknowledged_deaths() -> None:
    history = History(2).started()
    gone, died_at = history.child(W).incarnation, history.now
    history.die(W, -signal.SIGKILL)
    living = [history.child(slot).incarnation for slot in history.workers()]
    messages = sent(history.die(STEWARD, -signal.SIGKILL), STEWARD)
    assert messages == [*map(Born, living), Died(gone, "signal: SIGKILL", True, at=died_at)]


def test_a_death_without_a_steward_is_told_to_the_next() -> None:
    history = History(2).started()
    history.fork_fails = True
    history.die(STEWARD, -signal.SIGKILL)
    gone, died_at = history.child(W).incarnation, history.now
    history.die(W, -signal.SIGKILL)
    history.fork_fails = False
    messages = sent(history.pass_time(5.0), STEWARD)
    assert Died(gone, "signal: SIGKILL", True, at=died_at) in messages


def test_replacing_a_worker_does_not_wait_for_the_acknowledgement() -> None:
    history = History(1).started()
    for _ in range(5):
        history.pass_time(2.0)
        assert forks(history.die(W, 82)) == [W]
    assert len(history.view.unacknowledged) == 5


def test_an_acknowledgement_of_nobody_changes_nothing() -> None:
    history = History(1).started()
    assert history.acknowledge("nobody") == []


def test_down_counts_one_that_is_being_ended_for_hanging_first() -> None:
    history = History(3).started()
    history.pass_time(61.0, silent=[worker(0)])
    assert asked(scale(history, 2), history) == []
    history.die(worker(0), -signal.SIGABRT)
    assert history.workers() == [worker(1), worker(2)]
