"""SIGUSR1 to the parent: what it knows in one line, and the stacks of all that can show them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

from holdfast.ipc.channel import Beat
from holdfastd.core.commands import Command, Kill, Log
from holdfastd.core.parent_events import Signalled
from holdfastd.core.slots import Slot, SupervisionPolicy
from tests.core.histories import STEWARD, History, worker
from tests.parent.service import Service
from tests.parent.test_parent_ends import STORE as SERVING_STORE

Start = Callable[..., Service]

USR1 = Signalled(signal.SIGUSR1)


def asked(commands: Iterable[Command]) -> list[Slot]:
    return [each.slot for each in commands if isinstance(each, Kill) and each.signal == signal.SIGUSR1]


def test_steward_and_ready_workers_are_asked_and_nobody_else() -> None:
    history = History(3, SupervisionPolicy(embedded=True)).started()
    history.die(worker(1), -signal.SIGKILL)
    history.event(USR1)
    assert asked(history.pass_time(1.0)) == [STEWARD, worker(0), worker(2)]


def test_they_are_asked_one_after_the_other_as_all_write_to_one_place() -> None:
    history = History(3).started()
    history.event(USR1)
    assert [asked(history.tick()) for _ in range(2)] == [[STEWARD], []]
    assert [asked(history.tick(0.05)) for _ in range(4)] == [[worker(0)], [worker(1)], [worker(2)], []]


def test_one_that_died_meanwhile_is_passed_over_and_so_is_its_booting_successor() -> None:
    history = History(2).started()
    history.event(USR1)
    history.die(worker(0), -signal.SIGKILL)
    assert worker(0) in history.workers()
    assert asked(history.pass_time(1.0)) == [worker(1)]


def test_asked_twice_each_shows_its_stacks_once_more_at_most() -> None:
    history = History(2).started()
    history.event(USR1)
    history.event(USR1)
    assert asked(history.pass_time(1.0)) == [STEWARD, worker(0), worker(1)]


def test_the_state_is_one_line_with_what_is_known_of_each_process() -> None:
    history = History(1).started()
    history.hear(worker(0), Beat(["t1"], 7))
    (line,) = (command for command in history.event(USR1) if isinstance(command, Log))
    assert line.event == "state"
    processes = line.fields["processes"]
    assert isinstance(processes, list)
    child = history.child(worker(0))
    known = {"slot": "worker 0", "pid": child.pid, "state": "ready", "running": ["t1"], "settled": 7}
    assert processes[1] == known | {"silent": 0.0, "degraded": ""}
    assert line.fields["target"] == 1


def test_a_draining_worker_shows_where_it_is() -> None:
    history = History(1).started()
    history.event(Signalled(signal.SIGTERM))
    history.tick()
    history.event(USR1)
    assert worker(0) in asked(history.pass_time(1.0))


def test_parent_steward_and_workers_show_their_stacks_and_all_live_on(start: Start) -> None:
    service = start(store=SERVING_STORE).started(3)
    before = {process.pid for process in service.status().processes}
    service.send(signal.SIGUSR1)
    state = service.until("state")
    assert [process["slot"] for process in state["processes"]] == ["steward", "store", "worker 0", "worker 1"]
    for slot in ("steward", "worker 0", "worker 1"):
        assert service.ever("the stacks of this process follow", slot=slot)["pid"] in before
    for frame, times in (("in steward", 1), ("in plain", 2)):  # a process may be slow to write its own
        while shown(service, frame) < times:
            service.until("raw")
    assert "in run" in service.log_text().partition('"state"')[0]  # the parent's own, first
    assert {process.pid for process in service.status().processes} == before
    assert service.stopped() == 0


def shown(service: Service, frame: str) -> int:
    return sum(frame in line["text"] for line in service.lines("raw"))


def test_a_worker_signalled_by_itself_shows_its_own_stacks_alone(start: Start) -> None:
    service = start(workers=2).started(2)
    service.kill("worker 1", signal.SIGUSR1)
    while "in plain" not in service.until("raw")["text"]:
        pass
    assert service.stopped() == 0
    assert not service.lines("state")
    assert sum("in plain" in line.get("text", "") for line in service.log) == 1


def test_one_that_boots_is_not_ended_by_it(start: Start) -> None:
    service = start(worker="slow_to_boot", workers=1)
    service.until("booting")
    service.send(signal.SIGUSR1)
    service.until("state")
    service.until("the stacks of this process follow", slot="steward")
    assert service.stopped() == 0
    assert not service.lines("died")
