"""The loader imports once and forks workers: they are the parent's children, in every respect."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from holdfast.ipc.channel import BootFailed, Ready
from holdfastd.core.commands import Fork
from holdfastd.core.parent_events import Signalled
from holdfastd.core.slots import LOADER, STEWARD, ChildKind, SupervisionPolicy
from tests.core.histories import History, worker
from tests.parent.service import Service, wait_dead

Start = Callable[..., Service]

PRELOADED = SupervisionPolicy(preloaded=True)
NOT_PRELOADED = "the handler is not preloaded: each worker imports it"


def forked_workers(history: History) -> list[Fork]:
    return [each for each in history.done if isinstance(each, Fork) and each.slot.kind is ChildKind.WORKER]


def loading(start: Start, **options: Any) -> Service:
    policy = {"preloaded": True, **options.pop("policy", {})}
    return start(**{"worker": "loaded", "load": "marking", "workers": 2, **options}, policy=policy)


def served(service: Service) -> Service:
    """Once its two workers are ready."""
    service.ever("announce", line="2 workers ready, store redis://nowhere")
    return service


def test_workers_share_one_import_and_are_children_of_the_parent(start: Start) -> None:
    service = served(loading(start))
    loader = service.pid_of("loader")
    assert {line["by"] for line in service.lines("loaded")} == {loader}
    for slot in ("worker 0", "worker 1"):
        process = psutil.Process(service.pid_of(slot))
        assert process.ppid() == service.pid
        assert os.getpgid(process.pid) == process.pid
    assert psutil.Process(loader).children() == []
    assert service.lines("died") == []
    assert service.stopped() == 0


@pytest.mark.parametrize("pidfd", [True, False], ids=["pidfd", "no-pidfd"])
def test_the_death_of_a_worker_is_seen_and_the_loader_forks_the_next(start: Start, pidfd: bool) -> None:
    service = served(loading(start, no_pidfd=not pidfd))
    gone = service.kill("worker 0", signal.SIGSEGV)
    assert service.until("died", slot="worker 0")["cause"] == "signal: SIGSEGV"
    again = service.until("loaded", slot=0)
    assert (again["by"], again["pid"] != gone) == (service.pid_of("loader"), True)
    assert service.ever("recovered")["tasks"] == 1
    assert service.stopped() == 0


def test_what_a_worker_left_behind_is_killed_with_its_group(start: Start) -> None:
    service = loading(start, worker="leaving_grandchildren", workers=1)
    left = [service.until("grandchild")["pid"] for _ in range(3)]
    service.ever("ready", slot="worker 0")
    service.kill("worker 0")
    service.until("died", slot="worker 0")
    wait_dead(*left)


def test_workers_and_loader_end_with_the_parent(start: Start) -> None:
    service = served(loading(start))
    pids = [service.pid_of(slot) for slot in ("loader", "worker 0", "worker 1")]
    os.kill(service.pid, signal.SIGKILL)
    wait_dead(*pids)


def test_the_death_of_the_loader_takes_no_worker_with_it(start: Start) -> None:
    service = served(loading(start))
    workers = {each.pid for each in service.status().processes if each.kind == "worker"}
    gone = service.kill("loader")
    service.until("died", slot="loader")
    assert service.until("ready", slot="loader")["pid"] != gone
    assert {each.pid for each in service.status().processes if each.kind == "worker"} == workers
    service.kill("worker 1")
    assert service.until("loaded", slot=1)["by"] == service.pid_of("loader")
    assert service.ever("recovered")["tasks"] == 1
    assert service.stopped() == 0


def test_a_loader_that_dies_while_it_forks_costs_no_worker(start: Start) -> None:
    service = loading(start, load="dying_at_a_fork")
    for _ in range(2):
        assert service.until("loaded")["by"] is None
    served(service)
    assert service.lines("cannot fork") == []
    assert len(service.lines("died")) == len([line for line in service.lines("died") if line["slot"] == "loader"])
    assert service.stopped() == 0


@pytest.mark.parametrize(
    ("load", "why"),
    [
        ("threading_import", "its import started 1 thread"),
        ("hanging_import", "not ready in time, SIGABRT"),
        ("crashing_import", "the import ended its process: signal: SIGSEGV"),
    ],
)
def test_an_import_that_cannot_be_shared_is_told_once_and_made_in_each_worker(
    start: Start, load: str, why: str
) -> None:
    boots_within = 3.0 if load == "hanging_import" else 60.0  # workers, too
    service = loading(start, load=load, policy={"boot_timeout": boots_within})
    assert service.until(NOT_PRELOADED)["reason"] == why
    served(service)
    assert {line["by"] for line in service.lines("loaded")} == {None}
    status = service.status()
    assert status.not_preloaded == why
    assert {each.kind for each in status.processes} == {"steward", "worker"}
    assert len(service.lines(NOT_PRELOADED)) == 1
    assert service.stopped() == 0


def test_a_reload_loads_new_code_in_a_loader_of_its_own_and_there_is_one_at_a_time(start: Start) -> None:
    service = served(loading(start))
    old = service.pid_of("loader")
    (service.folder / "reread").write_text("{}")
    service.send(signal.SIGHUP)
    service.until("reloaded")
    new = service.pid_of("loader")
    assert new != old
    wait_dead(old)
    assert {line["by"] for line in service.lines("loaded")[2:]} == {new}
    assert [each.pid for each in service.status().processes if each.kind == "loader"] == [new]
    assert service.stopped() == 0


def test_workers_of_later_code_are_not_forked_by_an_earlier_loader() -> None:
    history = History(policy=PRELOADED).started()
    history.event(Signalled(signal.SIGHUP))
    history.tick()
    assert forked_workers(history) == []
    history.die(LOADER, 0)
    assert history.child(LOADER).generation == 1
    assert forked_workers(history) == []
    history.hear(LOADER, Ready())
    history.tick()
    assert [(fork.generation, fork.by_loader) for fork in forked_workers(history)] == [(1, True)]


def test_workers_wait_for_the_first_import_and_not_for_that_of_a_loader_that_has_died() -> None:
    history = History(policy=PRELOADED)
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    assert forked_workers(history) == []
    history.hear(LOADER, Ready())
    history.tick()
    assert [fork.by_loader for fork in forked_workers(history)] == [True, True]
    for slot in history.workers():
        history.hear(slot, Ready())
    history.pass_time(5.0)
    history.done.clear()
    history.die(LOADER, -9)
    history.die(worker(0), -9)
    assert [fork.by_loader for fork in forked_workers(history)] == [False]


def test_an_import_that_fails_ends_the_service_as_if_nothing_were_preloaded() -> None:
    history = History(1, policy=PRELOADED)
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    history.hear(LOADER, BootFailed(78, "no module agent"))
    history.die(LOADER, 78)
    for _ in range(3):
        history.pass_time(5.0)
        history.boot_failed(worker(0), error="no module agent")
    assert history.view.stopping is not None
    assert history.view.stopping.code == 78
