"""How a real service begins and ends, with real signals."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.parent.service import Service

Start = Callable[..., Service]

STORE = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    listener.accept()
"""


@pytest.mark.parametrize("worker", ["plain", "unwilling", "finishing"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_drain_that_cuts_nothing_off_ends_with_zero(start: Start, worker: str, number: signal.Signals) -> None:
    service = start(worker=worker).started()
    service.send(number)
    assert service.ended() == 0
    assert service.lines("ended")[0]["unacknowledged_deaths"] == 0


def test_a_drain_that_overruns_releases_and_ends_with_75(start: Start) -> None:
    service = start(worker="busy", policy={"drain_timeout": 0.5}).started()
    assert service.stopped() == 75
    assert {line["cause"] for line in service.lines("ended as ordered")} == {"requested: stop"}


def test_a_worker_that_ignores_everything_is_killed_at_the_end_of_the_drain(start: Start) -> None:
    service = start(worker="deaf", workers=1, policy={"drain_timeout": 0.1}).started(1)
    assert service.stopped() == 75
    assert service.lines("ended as ordered")[0]["cause"] == "requested: stop, SIGKILL"


def test_a_second_signal_hastens_to_cancelling(start: Start) -> None:
    service = start(worker="busy", workers=1, policy={"drain_timeout": 600}).started(1)
    service.send(signal.SIGTERM)
    service.until("asked to drain")
    service.send(signal.SIGTERM)
    assert service.ended() == 75
    assert service.lines("ended as ordered")[0]["cause"] == "requested: stop"


def test_a_third_signal_kills_now(start: Start) -> None:
    service = start(worker="deaf", workers=1, policy={"drain_timeout": 600}).started(1)
    service.send(signal.SIGTERM)
    service.until("draining")
    service.send(signal.SIGTERM)
    service.until("drain was shortened: handlers are cancelled")
    service.send(signal.SIGTERM)
    assert service.ended() == 75


def test_quit_kills_now(start: Start) -> None:
    service = start(worker="deaf", policy={"drain_timeout": 600}).started()
    service.send(signal.SIGQUIT)
    assert service.ended() == 75


def test_a_stopped_worker_is_drained_all_the_same(start: Start) -> None:
    service = start(worker="finishing", workers=1).started(1)
    service.kill("worker 0", signal.SIGSTOP)
    assert service.stopped() == 0


def test_a_signal_while_starting_leaves_no_orphan(start: Start) -> None:
    service = start(worker="slow_to_boot")
    service.until("booting")
    assert service.stopped() == 0


def test_a_handler_that_cannot_be_booted_ends_with_78_and_its_traceback_once(start: Start) -> None:
    service = start(worker="unbootable", workers=4)
    assert service.ended() == 78
    assert [line["line"] for line in service.lines("announce")] == [
        "Traceback: the handler's own\nno module named agent"
    ]


def test_a_store_that_fails_preflight_ends_with_69_before_any_worker(start: Start) -> None:
    service = start(steward="unfit_steward")
    assert service.ended() == 69
    assert service.lines("announce")[0]["line"] == "the store at redis://elsewhere cannot be reached"
    assert not service.lines("ready")


def test_a_second_start_is_refused_and_the_first_untouched(start: Start) -> None:
    first = start().started()
    second = start()
    assert second.ended() == 73
    assert "runs already" in second.lines("announce")[0]["line"]
    assert first.status().ready == 2
    assert first.stopped() == 0


@pytest.mark.parametrize("worker", ["plain", "busy", "hung", "deaf", "slow_to_boot"])
def test_all_children_leave_when_the_parent_is_killed(start: Start, worker: str) -> None:
    service = start(worker=worker)
    service.until("ready", slot="steward")
    service.until("booting") if worker == "slow_to_boot" else service.until("ready", slot="worker 1")
    service.send(signal.SIGKILL)
    assert service.ended() == -signal.SIGKILL


def test_a_new_parent_may_start_where_one_was_killed(start: Start) -> None:
    first = start().started()
    first.send(signal.SIGKILL)
    first.ended()
    assert start().started().stopped() == 0


def test_a_bug_in_the_parent_ends_with_70_and_leaves_no_child(start: Start) -> None:
    service = start(worker="stone", trouble="bug", first=4).started()
    service.kill("worker 0")
    assert service.ended() == 70
    assert "a bug in the parent" in service.lines("announce")[-1]["line"]


def test_an_embedded_store_is_first_and_last_and_replaced(start: Start) -> None:
    service = start(store=STORE)
    assert [service.until("ready")["slot"] for _ in range(4)][:2] == ["store", "steward"]
    service.kill("store")
    service.until("died", slot="store")
    service.until("ready", slot="store")
    status = service.status()
    assert (status.store.embedded, status.store.pid) == (True, service.pid_of("store"))
    assert service.stopped() == 0
    assert [line["slot"] for line in service.lines("ended as ordered")][-2:] == ["steward", "store"]


def test_an_embedded_store_that_cannot_run_ends_with_69(start: Start) -> None:
    assert start(store="raise SystemExit(1)").ended() == 69


def test_systemd_is_told_of_ready_and_stopping(start: Start, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(20.0)
        service = start(environment={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000000"})
        statuses: list[str] = []

        def until(message: str) -> None:
            while not any(message in each for each in statuses):
                statuses.append(systemd.recv(4096).decode())

        until("READY=1")
        until("WATCHDOG=1")
        until("STATUS=running: 2 of 2 workers ready, 0 tasks running")
        service.send(signal.SIGTERM)
        until("STOPPING=1")
        until("EXTEND_TIMEOUT_USEC=15000000")
        assert service.ended() == 0
