"""How the service ends: in order, in stages, with an exit status that says whether something was cut off."""

from __future__ import annotations

import signal
from collections.abc import Sequence

import pytest

from holdfast.ipc.channel import Beat, Drain, Drained, Leave
from holdfastd.core.parent_events import Event, ScaleAsked, Signalled, StopAsked
from holdfastd.core.slots import SupervisionPolicy
from tests.core.histories import STEWARD, STORE, TERM, History, events_logged, forks, kills, sent, worker

W = worker(0)
QUIT = Signalled(signal.SIGQUIT)


def asked(history: History) -> Drain:
    (message,) = sent(history.done, W)
    assert isinstance(message, Drain)
    return message


def busy() -> History:
    history = History(1).started()
    history.hear(W, Beat(["task"]))
    return history


def test_workers_leave_before_the_steward_and_the_steward_before_the_store() -> None:
    history = History(2, SupervisionPolicy(embedded=True)).started()
    history.event(TERM)
    commands = history.tick()
    assert sent(commands, W)
    assert sent(commands, worker(1))
    assert not sent(commands, STEWARD)
    history.leave(W)
    commands = history.leave(worker(1))
    assert sent(commands, STEWARD)[-1] == Leave(history.now + 5.0)
    assert not kills(commands, STORE)
    commands = history.die(STEWARD, 0)
    assert kills(commands, STORE) == [signal.SIGTERM, signal.SIGCONT]
    history.die(STORE, 0)
    assert history.view.over == 0


@pytest.mark.parametrize("order", [TERM, Signalled(signal.SIGINT), StopAsked()])
def test_every_way_to_stop_drains(order: Event) -> None:
    history = busy()
    history.event(order)
    history.tick()
    assert asked(history) == Drain(history.now + 85.0, history.now + 90.0)


def test_a_worker_is_continued_as_well_as_asked() -> None:
    history = busy()
    history.event(TERM)
    assert kills(history.tick(), W) == [signal.SIGCONT]


def test_a_booting_worker_is_ended_by_signal_too() -> None:
    history = History(2).started()
    history.die(W, -signal.SIGKILL)
    history.event(TERM)
    assert kills(history.tick(), W) == [signal.SIGCONT, signal.SIGTERM]
    history.die(W, -signal.SIGTERM)
    assert history.cause() == "requested: stop, SIGTERM"


def test_nobody_is_replaced_while_draining() -> None:
    history = History(2).started()
    history.event(TERM)
    history.tick()
    assert forks(history.die(W, -signal.SIGKILL)) == []
    assert forks(history.pass_time(40.0)) == []


def test_a_seat_that_waits_to_be_filled_is_not_filled_while_draining() -> None:
    history = History(2).started()
    history.fork_fails = True
    history.die(W, -signal.SIGKILL)
    history.fork_fails = False
    history.event(TERM)
    history.tick()
    assert forks(history.pass_time(40.0)) == []
    assert history.workers() == [worker(1)]


def test_the_steward_is_replaced_as_long_as_workers_need_it() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    assert forks(history.die(STEWARD, -signal.SIGKILL)) == [STEWARD]
    history.leave(W)
    history.die(STEWARD, -signal.SIGTERM)
    assert history.view.over == 0


def test_finished_work_ends_with_zero() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    history.leave(W, released=0)
    history.die(STEWARD, 0)
    assert history.view.over == 0


def test_released_work_ends_with_75() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    history.leave(W, released=1)
    history.die(STEWARD, 0)
    assert history.view.over == 75


def test_a_worker_that_crashes_with_work_while_draining_ends_with_75() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    history.die(W, -signal.SIGSEGV)
    history.die(STEWARD, 0)
    assert history.view.over == 75


@pytest.mark.parametrize(("recovered", "code"), [(0, 0), (2, 75)])
def test_what_the_store_put_back_counts_though_no_beat_had_told_of_it(recovered: int, code: int) -> None:
    history = History(1).started()
    gone = history.child(W).incarnation
    history.event(TERM)
    history.tick()
    history.die(W, -signal.SIGSEGV)
    history.acknowledge(gone, recovered)
    history.die(STEWARD, 0)
    assert (history.view.over, history.view.cut_off) == (code, recovered)


def test_what_a_beat_has_told_of_is_not_counted_twice() -> None:
    history = busy()
    gone = history.child(W).incarnation
    history.event(TERM)
    history.tick()
    history.die(W, -signal.SIGSEGV)
    known = history.view.cut_off
    history.acknowledge(gone, known)
    assert history.view.cut_off == known > 0


@pytest.mark.parametrize("status", [0, -signal.SIGABRT])
def test_what_a_drained_worker_could_not_give_back_is_counted_once(status: int) -> None:
    """It has given back one task; two more are put back when it has ended, by itself or by the parent."""
    history = busy()
    gone = history.child(W).incarnation
    history.event(TERM)
    history.tick()
    history.hear(W, Drained(1, held=2))
    history.die(W, status)
    history.acknowledge(gone, 2)
    history.die(STEWARD, 0)
    assert (history.view.over, history.view.cut_off) == (75, 3)


def test_tasks_of_a_worker_that_died_before_the_stop_are_not_cut_off_by_it() -> None:
    """They may have run to their end elsewhere before the parent hears how many were put back."""
    history = History(2).started()
    gone = history.child(W).incarnation
    history.die(W, -signal.SIGSEGV)
    history.event(TERM)
    history.tick()
    history.acknowledge(gone, recovered=2)
    for slot in history.workers():
        history.leave(slot)
    history.die(STEWARD, 0)
    assert (history.view.over, history.view.cut_off) == (0, 0)


def test_a_worker_that_overruns_is_aborted_then_killed() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    assert kills(history.pass_time(90.5), W) == []
    assert kills(history.pass_time(1.0), W) == [signal.SIGABRT]
    assert kills(history.pass_time(2.0), W) == [signal.SIGKILL]
    history.die(W, -signal.SIGKILL)
    history.die(STEWARD, 0)
    assert history.view.over == 75


def test_a_second_signal_hastens_to_cancelling() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    history.pass_time(10.0)
    commands = history.event(TERM)
    assert sent(commands, W) == [Drain(history.now, history.now + 5.0)]
    assert kills(history.pass_time(6.5), W) == [signal.SIGABRT]


def test_hastening_never_gives_more_time() -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    before = asked(history)
    history.pass_time(89.0)
    (hastened,) = sent(history.event(TERM), W)
    assert hastened == before


@pytest.mark.parametrize("orders", [[TERM, TERM, TERM], [QUIT], [TERM, QUIT]])
def test_a_third_signal_or_quit_kills_everybody_now(orders: list[Signalled]) -> None:
    history = History(1, SupervisionPolicy(embedded=True)).started()
    for order in orders:
        history.event(order)
    commands = history.tick()
    assert [kills(commands, slot) for slot in (W, STEWARD, STORE)] == [[signal.SIGKILL]] * 3
    for slot in (W, STEWARD, STORE):
        history.die(slot, -signal.SIGKILL)
    assert history.view.over == 75


def test_asking_by_the_socket_again_does_not_hasten() -> None:
    history = busy()
    history.event(StopAsked())
    history.tick()
    assert history.event(StopAsked()) == []


@pytest.mark.parametrize("before", [(), (StopAsked(),), (TERM,), (TERM, TERM), (StopAsked(now=True),)])
def test_to_stop_now_cancels_handlers_and_never_kills(before: Sequence[Event]) -> None:
    history = busy()
    for each in (*before, StopAsked(now=True)):
        history.event(each)
        history.tick()
    grace = history.view.policy.cancel_grace
    assert history.view.stopping is not None
    assert history.view.stopping.cancel_at <= history.now
    assert history.view.stopping.deadline == history.now + grace
    assert not history.view.stopping.killing
    assert history.event(StopAsked(now=True)) == []


def test_a_signal_after_a_stop_now_kills() -> None:
    history = busy()
    history.event(StopAsked(now=True))
    history.event(TERM)
    assert kills(history.tick(), W) == [signal.SIGKILL]


@pytest.mark.parametrize("number", [signal.SIGTTIN, signal.SIGTTOU, signal.SIGHUP])
def test_reload_and_scaling_change_nothing_while_draining(number: int) -> None:
    history = busy()
    history.event(TERM)
    history.tick()
    before = history.view
    commands = history.event(Signalled(number))
    assert len(events_logged(commands)) == len(commands) == 1
    assert history.view == before
    assert history.event(ScaleAsked(9))
    assert forks(history.pass_time(5.0)) == []


def test_a_steward_that_stays_is_killed() -> None:
    history = History(1).started()
    history.event(TERM)
    history.tick()
    history.leave(W)
    assert kills(history.pass_time(9.0, silent=[STEWARD]), STEWARD) == [signal.SIGABRT, signal.SIGKILL]


def test_a_store_that_stays_is_killed() -> None:
    history = History(1, SupervisionPolicy(embedded=True)).started()
    history.event(TERM)
    history.tick()
    history.leave(W)
    history.die(STEWARD, 0)
    assert kills(history.pass_time(11.0), STORE) == [signal.SIGKILL]


def test_stopping_before_anybody_was_ready_leaves_nobody_behind() -> None:
    history = History(4)
    history.tick()
    history.event(TERM)
    assert kills(history.tick(), STEWARD) == [signal.SIGCONT, signal.SIGTERM]
    assert forks(history.pass_time(2.0)) == []
    history.die(STEWARD, -signal.SIGTERM)
    assert history.view.over == 0


def test_a_worker_being_scaled_down_does_not_outlive_the_drain() -> None:
    history = History(2).started()
    for slot in history.workers():
        history.hear(slot, Beat(["task"]))
    history.event(ScaleAsked(1))
    history.tick()
    history.event(TERM)
    history.tick()
    history.pass_time(95.0)
    assert kills(history.done, W).count(signal.SIGKILL) == 1
    assert kills(history.done, worker(1)).count(signal.SIGKILL) == 1


def test_no_drain_time_cancels_at_once() -> None:
    history = History(1, SupervisionPolicy(drain_timeout=0.0)).started()
    history.event(TERM)
    history.tick()
    assert asked(history) == Drain(history.now, history.now)
