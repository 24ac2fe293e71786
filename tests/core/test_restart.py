"""When a dead child is replaced: at once, after a pause, or by a probe of the breaker."""

from __future__ import annotations

import itertools
import signal

import pytest

from holdfast.ipc.channel import Beat, Ready
from holdfastd.core.parent_events import ChildStopped, Exited, MessageReceived
from holdfastd.core.restart import WINDOW, delay, young_death
from holdfastd.core.slots import Vacant
from tests.core.histories import STEWARD, History, events_logged, forks, worker

W = worker(0)


def wait_of(history: History) -> float:
    seat = history.view.seats[W]
    return seat.due - history.now if isinstance(seat, Vacant) else 0.0


def crash_young(history: History, jitter: float = 0.0) -> None:
    """Wait until the slot is filled, then die before ready."""
    if history.view.child(W) is None:
        history.pass_time(40.0)
    history.die(W, 1, jitter=jitter)


def test_a_worker_that_lived_is_replaced_in_the_same_turn() -> None:
    history = History(2).started()
    assert forks(history.die(W, -signal.SIGKILL)) == [W]


@pytest.mark.parametrize(
    "late",
    [
        ChildStopped(W, "life-102"),
        MessageReceived(W, "life-102", Ready()),
        MessageReceived(W, "life-102", Beat(["of-another"], 9)),
        Exited(W, "life-102", 1, False, 0.0),
    ],
)
def test_late_news_of_a_dead_child_does_nothing_to_its_successor(late: ChildStopped | MessageReceived | Exited) -> None:
    history = History(2).started()
    assert history.child(W).incarnation == late.incarnation
    history.die(W, -signal.SIGKILL)
    before = history.view
    assert history.event(late) == []
    assert history.view == before


def test_a_worker_that_settled_something_is_replaced_at_once_however_young() -> None:
    history = History(2).started()
    history.die(W, -signal.SIGKILL)
    history.hear(W, Ready())
    history.hear(W, Beat([], 1))
    assert forks(history.die(W, -signal.SIGKILL)) == [W]


def test_young_deaths_wait_longer_each_time_and_at_most_half_a_minute() -> None:
    history = History(100).started()
    waits: list[float] = []
    history.die(W, 1)
    for _ in range(8):
        crash_young(history)
        waits.append(wait_of(history))
    assert waits == pytest.approx([0.5, 1, 2, 4, 8, 16, 30, 30])


@pytest.mark.parametrize(("jitter", "expected"), [(-1.0, 0.375), (0.0, 0.5), (1.0, 0.625)])
def test_the_pause_is_spread_by_a_quarter(jitter: float, expected: float) -> None:
    history = History(2).started()
    history.die(W, 1)
    crash_young(history, jitter)
    assert wait_of(history) == pytest.approx(expected)


def test_a_good_life_forgives_the_young_deaths_before_it() -> None:
    history = History(2).started()
    history.die(W, 1)
    for _ in range(4):
        crash_young(history)
    history.pass_time(40.0)
    history.hear(W, Ready())
    history.pass_time(2.0)
    history.die(W, 1)
    crash_young(history)
    assert wait_of(history) == pytest.approx(0.5)


def test_a_fenced_worker_does_not_wait() -> None:
    history = History(2).started()
    history.die(W, -signal.SIGKILL)
    for _ in range(5):
        assert forks(history.die(W, 82)) == [W]
    assert not history.view.breaker.deaths


def test_a_steward_is_replaced_at_once_and_never_waits_long() -> None:
    history = History(1).started()
    waits: list[float] = []
    history.die(STEWARD, -signal.SIGKILL)
    for _ in range(8):
        began = history.now
        while history.view.child(STEWARD) is None:
            history.pass_time(0.1)
        waits.append(history.now - began)
        history.die(STEWARD, -signal.SIGKILL)
    assert waits[0] == 0
    assert max(waits) <= 5.2


def test_a_crash_looping_steward_does_not_keep_workers_from_restarting() -> None:
    history = History(1).started()
    for _ in range(6):
        history.die(STEWARD, -signal.SIGKILL)
        history.pass_time(6.0)
    history.die(STEWARD, -signal.SIGKILL)
    assert W in forks(history.die(W, -signal.SIGKILL))


def test_a_refused_fork_waits_and_its_siblings_live() -> None:
    history = History(2).started()
    history.fork_fails = True
    history.die(W, -signal.SIGKILL)
    history.pass_time(3.0)
    assert history.workers() == [worker(1)]
    history.fork_fails = False
    assert forks(history.pass_time(5.0)) == [W]


def open_breaker(history: History) -> None:
    """Every worker that is forked dies before it is ready, until the breaker opens."""
    for slot in history.workers():
        history.die(slot, 1)
    while not history.view.breaker.is_open:
        for slot in history.workers():
            if history.child(slot).ready_at is None:
                history.die(slot, 1)
        history.pass_time(0.1)


def test_many_young_deaths_open_the_breaker_and_one_worker_probes() -> None:
    history = History(8).started()
    open_breaker(history)
    for slot in [slot for slot in history.workers() if history.child(slot).ready_at is None]:
        history.die(slot, 1)
    history.pass_time(120.0)
    assert len(history.workers()) == 1
    assert history.view.breaker.cause == "exit: status 1"


def test_the_breaker_opens_above_three_young_deaths_for_each_worker() -> None:
    history = History(8).started()
    for slot in history.workers():
        history.die(slot, 1)
    for _ in range(3 * 8 + 1):
        assert not history.view.breaker.is_open
        while not (young := [slot for slot in history.workers() if history.child(slot).ready_at is None]):
            history.pass_time(0.1)
        history.die(young[0], 1)
    assert history.view.breaker.is_open


def test_young_deaths_of_a_minute_ago_no_longer_count() -> None:
    history = History(8).started()
    view, child, most = history.view, history.child(W), 3 * 8
    for now in (*[0.0] * most, *[WINDOW] * most):
        view, _ = young_death(view, child, "exit: status 1", 0.0, now)
        assert not view.breaker.is_open
    view, _ = young_death(view, child, "exit: status 1", 0.0, WINDOW)
    assert view.breaker.is_open


def test_probes_come_ever_more_slowly() -> None:
    history = History(4).started()
    open_breaker(history)
    for slot in history.workers():
        history.die(slot, 1)
    begun: list[float] = []
    while len(begun) < 7:
        history.pass_time(0.1)
        if history.workers():
            begun.append(history.now)
            assert len(history.workers()) == 1
            history.die(history.workers()[0], 1)
    gaps = [later - earlier for earlier, later in itertools.pairwise(begun)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 29


def test_a_probe_that_lives_a_minute_closes_the_breaker() -> None:
    history = History(4).started()
    open_breaker(history)
    for slot in history.workers():
        history.die(slot, 1)
    history.pass_time(1.0)
    (probe,) = history.workers()
    history.hear(probe, Ready())
    history.pass_time(59.0)
    assert history.workers() == [probe]
    commands = history.pass_time(2.0)
    assert "the crash loop has ended: all workers are started again" in events_logged(commands)
    assert len(history.workers()) == 4
    assert not history.view.breaker.is_open


def test_the_breaker_never_holds_the_steward() -> None:
    history = History(4).started()
    open_breaker(history)
    assert STEWARD in forks(history.die(STEWARD, -signal.SIGKILL))


def test_the_delay_is_bounded_however_often_it_failed() -> None:
    assert delay(10_000, 0.0) == 30.0
