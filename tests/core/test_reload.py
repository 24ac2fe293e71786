"""Reloading: a canary first, then one by one; and recycling workers at their limits."""

from __future__ import annotations

import signal

import pytest

from holdfast.ipc.channel import Beat, Drain, Ready
from holdfastd.core.commands import Command
from holdfastd.core.parent_events import ReloadAsked, ScaleAsked, Signalled
from holdfastd.core.slots import Child, Slot, SupervisionPolicy
from holdfastd.core.view import Reloaded
from tests.core.histories import STEWARD, TERM, History, events_logged, forks, kills, sent, shown, worker

HUP = Signalled(signal.SIGHUP)


def reload(history: History) -> list[Command]:
    before = len(history.done)
    history.event(HUP)
    history.tick()
    return history.done[before:]


def drained(history: History) -> list[Slot]:
    """Those that have been asked to leave and still live."""
    return [slot for slot in history.workers() if any(isinstance(each, Drain) for each in sent(history.done, slot))]


def boot(history: History, slot: Slot) -> None:
    history.hear(slot, Ready())
    history.tick()


def generations(history: History) -> list[int]:
    return sorted(history.child(slot).generation for slot in history.workers())


def test_a_canary_boots_before_anybody_is_asked_to_leave() -> None:
    history = History(3).started()
    assert forks(reload(history)) == [worker(3)]
    assert drained(history) == []
    assert history.child(worker(3)).generation == 1
    boot(history, worker(3))
    assert drained(history) == [worker(0)]


def test_all_are_replaced_one_by_one_and_never_fewer_are_ready_than_wanted() -> None:
    history = History(3).started()
    reload(history)
    for _ in range(3):
        (booting,) = [slot for slot in history.workers() if history.child(slot).ready_at is None]
        boot(history, booting)
        assert history.view.serving() >= 3
    assert history.view.reloaded == Reloaded(1)
    assert history.view.reload is None
    for slot in drained(history):
        history.leave(slot)
    assert generations(history) == [1, 1, 1]
    assert history.view.death_count == 0


def test_the_idle_are_replaced_before_the_busy() -> None:
    history = History(2).started()
    history.hear(worker(0), Beat(["task"]))
    reload(history)
    boot(history, worker(2))
    assert drained(history) == [worker(1)]


def test_an_old_worker_may_take_as_long_as_its_tasks_do() -> None:
    history = History(1).started()
    history.hear(worker(0), Beat(["task"]))
    reload(history)
    boot(history, worker(1))
    history.pass_time(3600.0 * 24, every=30.0)
    assert kills(history.done, worker(0)) == [signal.SIGCONT]
    assert worker(0) in history.workers()


def test_an_old_worker_that_hangs_is_ended_all_the_same() -> None:
    history = History(1).started()
    history.hear(worker(0), Beat(["task"]))
    reload(history)
    boot(history, worker(1))
    history.pass_time(history.view.policy.hang_timeout + 10.0, silent=[worker(0)])
    assert kills(history.done, worker(0))[-2:] == [signal.SIGABRT, signal.SIGKILL]


def test_a_stop_hastens_those_that_had_all_the_time() -> None:
    history = History(1).started()
    history.hear(worker(0), Beat(["task"]))
    reload(history)
    boot(history, worker(1))
    history.event(TERM)
    history.tick()
    (first, second) = [each for each in sent(history.done, worker(0)) if isinstance(each, Drain)]
    assert second.deadline == history.now + history.view.policy.drain_timeout < first.deadline
    history.pass_time(10.0)
    assert len([each for each in sent(history.done, worker(0)) if isinstance(each, Drain)]) == 2


def test_code_that_does_not_boot_leaves_the_old_generation_serving() -> None:
    history = History(2).started()
    reload(history)
    commands = history.boot_failed(worker(2), error="no module agent", traceback="Traceback: of the user\n")
    assert "reload failed: the old code goes on serving" in events_logged(commands)
    assert shown(commands) == ["Traceback: of the user\nno module agent"]
    history.pass_time(120.0)
    assert generations(history) == [0, 0]
    assert drained(history) == []
    ended = history.view.reloaded
    assert ended is not None
    assert "no module agent" in ended.error
    assert ended.traceback == "Traceback: of the user\n"


def test_the_same_traceback_is_shown_at_each_reload() -> None:
    history = History(1).started()
    for _ in range(2):
        reload(history)
        assert shown(history.boot_failed(worker(1), traceback="Traceback\n")) == ["Traceback\nno agent"]


def test_a_reload_after_a_failed_one_replaces_everybody() -> None:
    history = History(1).started()
    reload(history)
    history.boot_failed(worker(1))
    reload(history)
    boot(history, worker(1))
    history.leave(worker(0))
    assert generations(history) == [2]


def test_a_canary_that_is_killed_is_no_verdict_but_three_are() -> None:
    history = History(1).started()
    reload(history)
    for death in range(3):
        assert history.view.reload is not None, death
        history.die(worker(1), -signal.SIGKILL)
        history.pass_time(5.0)
    assert history.view.reload is None
    assert history.workers() == [worker(0)]


def test_a_canary_that_never_gets_ready_ends_the_reload() -> None:
    history = History(1, SupervisionPolicy(boot_timeout=20.0)).started()
    reload(history)
    history.pass_time(21.0, silent=[worker(1)])
    history.die(worker(1), -signal.SIGABRT)
    assert history.view.reloaded is not None
    assert "not ready in time" in history.view.reloaded.error
    assert generations(history) == [0]


def test_a_worker_that_dies_during_a_reload_is_replaced_by_new_code() -> None:
    history = History(2).started()
    reload(history)
    history.die(worker(0), -signal.SIGKILL)
    assert history.child(worker(0)).generation == 1


def test_a_reload_during_a_reload_overtakes_it() -> None:
    history = History(1).started()
    reload(history)
    reload(history)
    boot(history, worker(1))  # of the generation that was overtaken
    assert history.view.reload is not None
    assert not history.view.reload.proven
    boot(history, worker(2)) if worker(2) in history.workers() else None
    history.pass_time(5.0)
    while booting := [slot for slot in history.workers() if history.child(slot).ready_at is None]:
        boot(history, booting[0])
    assert history.view.reloaded == Reloaded(2)


@pytest.mark.parametrize("reloads", [1, 2, 3])
@pytest.mark.parametrize("refused", [False, True])
def test_the_generation_that_serves_keeps_its_settings_through_reloads_that_fail(reloads: int, refused: bool) -> None:
    """No worker of the new generations is ever ready. So one of the old is forked again when it dies."""
    history = History(2).started()
    for _ in range(reloads):
        reload(history)
    if refused:
        history.settings_error = "supervisor.toml: workers: must be a number"
        reload(history)
    fail_back_to(history, 0)
    history.die(worker(0), -signal.SIGKILL)
    history.pass_time(30.0)
    assert generations(history) == [0, 0]


def test_a_generation_that_has_proven_itself_keeps_its_settings_when_the_next_one_fails() -> None:
    """The reload that began it had not replaced everybody yet."""
    history = History(3).started()
    reload(history)
    boot(history, worker(3))
    assert history.view.reload is not None
    reload(history)
    fail_back_to(history, 1)
    history.die(worker(3), -signal.SIGKILL)
    history.pass_time(30.0)
    assert history.child(worker(3)).generation == 1


def fail_back_to(history: History, generation: int) -> None:
    """No worker of a new generation is ever ready, until this generation serves again."""
    while history.view.generation != generation:
        for slot in [slot for slot in history.workers() if history.child(slot).ready_at is None]:
            history.boot_failed(slot)
        history.pass_time(2.0)


def test_settings_that_cannot_be_read_change_nothing() -> None:
    history = History(1).started()
    history.settings_error = "supervisor.toml: workers: must be a number"
    assert forks(reload(history)) == []
    assert history.view.reloaded == Reloaded(1, history.settings_error)
    assert history.view.reload is None


@pytest.mark.parametrize("event", [HUP, ReloadAsked()])
def test_a_reload_is_refused_while_draining(event: Signalled | ReloadAsked) -> None:
    history = History(1).started()
    history.event(TERM)
    assert events_logged(history.event(event)) == ["reload refused"]


def test_a_reload_is_refused_before_anybody_has_served() -> None:
    history = History(1)
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    assert events_logged(history.event(HUP)) == ["reload refused"]


def test_scaling_down_during_a_reload_keeps_to_the_new_target() -> None:
    history = History(4).started()
    reload(history)
    history.event(ScaleAsked(2))
    history.tick()
    for _ in range(20):
        for slot in history.workers():
            child = history.child(slot)
            if child.ready_at is None:
                boot(history, slot)
            elif child.leaving is not None:
                history.leave(slot)
    assert generations(history) == [1, 1]
    assert history.view.reload is None


def test_a_worn_worker_leaves_when_its_successor_is_ready() -> None:
    history = History(2).started()
    history.hear(worker(1), Beat([], 100, recycle_reason="100 tasks"))
    assert forks(history.tick()) == [worker(2)]
    assert drained(history) == []
    boot(history, worker(2))
    assert drained(history) == [worker(1)]
    history.leave(worker(1))
    assert history.cause() == "recycled: 100 tasks"
    assert history.workers() == [worker(0), worker(2)]


def test_all_worn_at_once_are_replaced_one_at_a_time() -> None:
    history = History(3).started()
    for slot in history.workers():
        history.hear(slot, Beat([], 100, recycle_reason="100 tasks"))
    history.tick()
    for _ in range(3):
        booting = [slot for slot in history.workers() if history.child(slot).ready_at is None]
        assert len(booting) == 1
        boot(history, booting[0])
        assert history.view.serving() == 3
    assert forks(history.pass_time(10.0)) == []


def test_a_recycled_worker_is_no_crash_loop() -> None:
    history = History(1).started()
    for _ in range(40):
        (slot,) = history.workers()
        history.hear(slot, Beat([], 1, recycle_reason="1 task"))
        history.tick()
        (booting,) = [slot for slot in history.workers() if history.child(slot).ready_at is None]
        boot(history, booting)
        history.leave(slot)
    assert not history.view.breaker.is_open
    assert isinstance(history.view.seats[history.workers()[0]], Child)
