"""In which order children are started, and what ends the service before it has begun."""

from __future__ import annotations

import signal

import pytest

from holdfast.ipc.channel import Beat, BootFailed, Born, Ready
from holdfastd.core.commands import Log
from holdfastd.core.parent_events import Exited, MessageReceived, StoreOpened
from holdfastd.core.slots import BATCH, SupervisionPolicy
from tests.core.histories import STEWARD, STORE, History, events_logged, forks, kills, sent, shown, worker


def test_no_worker_before_the_steward_has_found_the_store_fit() -> None:
    history = History(workers=2)
    assert forks(history.tick()) == [STEWARD]
    assert forks(history.pass_time(5.0)) == []
    history.hear(STEWARD, Ready())
    assert forks(history.tick()) == [worker(0), worker(1)]


def test_no_steward_before_the_embedded_store_serves() -> None:
    history = History(policy=SupervisionPolicy(embedded=True))
    assert forks(history.tick()) == [STORE]
    assert forks(history.pass_time(5.0)) == []
    history.event(StoreOpened())
    assert forks(history.tick()) == [STEWARD]


def test_the_steward_is_told_of_each_birth() -> None:
    history = History(workers=1)
    history.tick()
    history.hear(STEWARD, Ready())
    commands = history.tick()
    assert sent(commands, STEWARD) == [Born(history.child(worker(0)).incarnation)]


def test_many_forks_leave_room_for_signals_in_between() -> None:
    history = History(workers=100)
    history.tick()
    history.hear(STEWARD, Ready())
    assert len(forks(history.tick())) == BATCH
    history.pass_time(1.0)
    assert len(history.workers()) == 100


@pytest.mark.parametrize("code", [69, 78])
def test_the_first_preflight_that_fails_ends_the_service_with_its_code_and_line(code: int) -> None:
    history = History()
    history.tick()
    commands = history.boot_failed(STEWARD, code, "redis://elsewhere cannot be reached")
    assert shown(commands) == ["redis://elsewhere cannot be reached"]
    assert history.view.over == code


def test_a_store_that_serves_is_asked_to_end_when_the_service_cannot_begin() -> None:
    history = History(policy=SupervisionPolicy(embedded=True))
    history.tick()
    history.event(StoreOpened())
    history.tick()
    history.boot_failed(STEWARD, 78, "it evicts")
    assert kills(history.done, STORE) == [signal.SIGTERM, signal.SIGCONT]
    assert kills(history.pass_time(9.9), STORE) == []
    history.die(STORE, 0)
    assert history.view.over == 78


def test_workers_that_cannot_boot_are_not_waited_for_but_the_order_is_kept() -> None:
    history = History(8, SupervisionPolicy(embedded=True, drain_timeout=600.0))
    history.tick()
    history.event(StoreOpened())
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    for number in range(3):
        history.boot_failed(worker(number))
    assert signal.SIGTERM in kills(history.done, worker(7))
    assert kills(history.pass_time(3.1), worker(7)) == [signal.SIGABRT, signal.SIGKILL]
    assert kills(history.done, STORE) == []
    for number in range(3, 8):
        history.die(worker(number), -signal.SIGKILL)
    history.die(STEWARD, 0)
    assert kills(history.done, STORE) == [signal.SIGTERM, signal.SIGCONT]
    history.die(STORE, 0)
    assert history.view.over == 78


def levels(history: History) -> list[str]:
    return [each.level for each in history.done if isinstance(each, Log) and each.event == "died"]


def test_the_same_boot_failure_again_is_no_news() -> None:
    history = History(8)
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    history.boot_failed(worker(0), error="no agent")
    history.boot_failed(worker(1), error="no agent")
    history.boot_failed(worker(2), error="no memory")
    assert levels(history) == ["error", "debug", "error"]
    assert shown(history.done) == ["no agent", "no memory"]


def test_once_somebody_was_ready_each_boot_failure_is_news() -> None:
    history = History(2).started()
    for number in (0, 1):
        history.die(worker(number), -signal.SIGKILL)
        history.boot_failed(worker(number), error="no agent")
    assert levels(history) == ["error"] * 4


def test_last_words_of_one_that_was_ready_are_no_boot_failure() -> None:
    history = History(policy=SupervisionPolicy(embedded=True)).started()
    history.hear(STORE, BootFailed(69, "an old complaint"))
    history.die(STORE, -signal.SIGKILL)
    assert history.cause() == "signal: SIGKILL"


def test_a_later_preflight_that_fails_ends_nothing() -> None:
    history = History().started()
    history.die(STEWARD, -signal.SIGKILL)
    history.boot_failed(STEWARD, 69, "away")
    history.pass_time(20.0)
    assert history.view.over is None
    assert history.workers() == [worker(0), worker(1)]


@pytest.mark.parametrize("workers", [1, 8])
def test_three_boot_failures_before_any_worker_was_ready_end_the_service(workers: int) -> None:
    history = History(workers)
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    shows: list[str] = []
    for _ in range(3):
        assert history.view.over is None
        assert history.view.stopping is None
        history.pass_time(2.0)
        shows += shown(history.boot_failed(history.workers()[0], 78, "no agent", "Traceback: theirs"))
    for slot in [*history.workers(), STEWARD]:
        history.die(slot, -signal.SIGKILL)
    assert history.view.over == 78
    assert shows == ["Traceback: theirs\nno agent"]


def test_boot_failures_after_one_was_ready_end_nothing() -> None:
    history = History(workers=2).started()
    for _ in range(5):
        history.pass_time(30.0)
        history.die(worker(0), 1) if history.view.child(worker(0)) else None
        history.pass_time(60.0)
        history.boot_failed(worker(0))
    assert history.view.over is None
    assert worker(1) in history.workers()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_steward_that_dies_three_times_before_it_was_ever_ready_ends_the_service(number: int) -> None:
    history = History()
    history.tick()
    for _ in range(3):
        history.pass_time(6.0)
        history.die(STEWARD, -number)
    assert history.view.over == 70


def test_failed_starts_of_two_kinds_are_counted_apart_and_in_turn() -> None:
    history = History(policy=SupervisionPolicy(embedded=True))
    history.tick()
    for _ in range(2):
        history.pass_time(6.0)
        history.die(STORE, 1)
        history.pass_time(6.0)
        history.event(StoreOpened())
        history.pass_time(6.0)
        history.die(STEWARD, -signal.SIGKILL)
        assert history.view.over is None
    history.pass_time(6.0)
    history.die(STORE, 1)
    history.die(STEWARD, -signal.SIGKILL)
    assert history.view.over == 69


def test_a_store_that_never_serves_ends_the_service() -> None:
    history = History(policy=SupervisionPolicy(embedded=True))
    history.tick()
    for _ in range(3):
        history.pass_time(6.0)
        history.die(STORE, 1)
    assert history.view.over == 69


def test_a_store_that_dies_while_it_loads_its_data_is_not_tried_for_ever() -> None:
    history = History(policy=SupervisionPolicy(embedded=True))
    history.tick()
    for _ in range(3):
        history.pass_time(6.0)
        history.event(StoreOpened())
        history.hear(STORE, BootFailed(69, "bad file format"))
        history.die(STORE, 1)
    assert shown(history.done) == ["bad file format"]
    history.die(STEWARD, 0)
    assert history.view.over == 69


def test_a_message_of_an_earlier_life_changes_nothing() -> None:
    history = History().started()
    earlier = history.child(worker(0)).incarnation
    history.die(worker(0), -signal.SIGKILL)
    before = history.view
    history.event(MessageReceived(worker(0), earlier, Beat(["ghost"])))
    history.event(Exited(worker(0), earlier, 0, False, 0.0))
    assert history.view == before


def test_a_store_death_is_answered_with_a_new_store_only() -> None:
    history = History(policy=SupervisionPolicy(embedded=True)).started()
    commands = history.die(STORE, -signal.SIGKILL)
    assert forks(commands) == [STORE]
    assert events_logged(commands) == ["died"]
