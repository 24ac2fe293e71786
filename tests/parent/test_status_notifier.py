"""The notices to systemd, which are sent again when they could not be delivered."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.exits import Exit
from holdfast.ipc.channel import Beat
from holdfastd.core.decisions import begin
from holdfastd.core.slots import ChildKind, SupervisionPolicy
from holdfastd.core.view import Breaker, Reload, Stopping, View
from holdfastd.parent.status import StatusNotifier
from holdfastd.parent.systemd_notify import Notifier
from tests.core.histories import History, worker

STARTING = begin(SupervisionPolicy(), 2, 0.0)
RUNNING = replace(STARTING, ready_kinds=frozenset({ChildKind.WORKER}))
DRAINING = replace(RUNNING, stopping=Stopping(85.0, 90.0, Exit.OK))
RELOADING = replace(RUNNING, reload=Reload(0))
EXTENSION = "EXTEND_TIMEOUT_USEC=15000000"


class Systemd:
    """The other end of the notification socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))

    def heard(self) -> list[str]:
        """Everything since it was last asked, a line each."""
        found: list[str] = []
        while True:
            try:
                found += self._socket.recv(1 << 16).decode().split("\n")
            except BlockingIOError:
                return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def systemd(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Systemd]:
    monkeypatch.setenv("NOTIFY_SOCKET", str(short_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    other = Systemd(short_path / "notify")
    yield other
    other.close()


@pytest.fixture
def notifier(systemd: Systemd) -> Iterator[Notifier]:
    notifier = Notifier()
    yield notifier
    notifier.close()


@pytest.fixture
def status_notifier(notifier: Notifier) -> StatusNotifier:
    return StatusNotifier(notifier, lambda line: None, "redis://nowhere")


def clogged(notifier: Notifier) -> None:
    """Systemd reads nothing until its queue is full."""
    while notifier.send(X=1):
        pass


def test_a_start_that_makes_headway_asks_for_time_until_it_is_ready(
    systemd: Systemd, status_notifier: StatusNotifier
) -> None:
    asked = []
    for now in range(12):
        status_notifier.update(STARTING, float(now))
        asked.append(EXTENSION in systemd.heard())
    assert [now for now in range(12) if asked[now]] == [0, 5, 10]
    status_notifier.update(RUNNING, 12.0)
    assert "READY=1" in systemd.heard()
    status_notifier.update(RUNNING, 30.0)
    assert EXTENSION not in systemd.heard()


def test_a_start_whose_workers_only_die_asks_for_no_more_time(
    systemd: Systemd, status_notifier: StatusNotifier
) -> None:
    status_notifier.update(replace(STARTING, breaker=Breaker(cause="exit 1")), 0.0)
    assert EXTENSION not in systemd.heard()


def test_a_drain_asks_for_time_as_long_as_it_takes(systemd: Systemd, status_notifier: StatusNotifier) -> None:
    status_notifier.update(RUNNING, 0.0)
    systemd.heard()
    asked = []
    for now in range(100, 112):
        status_notifier.update(DRAINING, float(now))
        asked += [now for line in systemd.heard() if line == EXTENSION]
    assert asked == [100, 105, 110]


def test_a_drain_says_once_what_it_waits_for(notifier: Notifier) -> None:
    statuses: list[str] = []
    status_notifier = StatusNotifier(notifier, statuses.append, "redis://nowhere")
    history = History(2).started()
    history.hear(worker(0), Beat(["a", "b"], 0))
    busy, idle = history.view, History(2).started().view
    stopping = Stopping(history.now + 85.0, history.now + 90.0, Exit.OK)
    for view in (busy, replace(idle, stopping=stopping), replace(busy, stopping=stopping)):
        statuses.clear()
        for _ in range(2):
            status_notifier.update(view, history.now)
    assert statuses == [
        "waiting up to 90 s for 2 tasks that run; a second Ctrl-C cancels, a third kills; interrupted tasks rerun"
    ]


def test_a_reload_is_told_with_its_time_and_its_end(systemd: Systemd, status_notifier: StatusNotifier) -> None:
    status_notifier.update(RUNNING, 0.0)
    systemd.heard()
    status_notifier.update(RELOADING, 12.5)
    assert {"RELOADING=1", "MONOTONIC_USEC=12500000", EXTENSION} < set(systemd.heard())
    status_notifier.update(RELOADING, 17.5)
    assert systemd.heard().count(EXTENSION) == 1
    status_notifier.update(RUNNING, 18.0)
    assert "READY=1" in systemd.heard()


def test_the_end_of_a_reload_that_systemd_could_not_hear_is_said_again(
    systemd: Systemd, notifier: Notifier, status_notifier: StatusNotifier
) -> None:
    status_notifier.update(RELOADING, 0.0)
    systemd.heard()
    clogged(notifier)
    status_notifier.update(RUNNING, 1.0)
    assert "READY=1" not in systemd.heard()
    status_notifier.update(RUNNING, 2.0)
    assert "READY=1" in systemd.heard()


def test_a_stop_right_after_a_start_or_a_reload_asks_at_once(systemd: Systemd, status_notifier: StatusNotifier) -> None:
    for now, view in enumerate((STARTING, RUNNING, RELOADING, DRAINING)):
        status_notifier.update(view, now / 10)
        assert (EXTENSION in systemd.heard()) == (view is not RUNNING)


def test_the_watchdog_is_patted_three_times_as_often_as_it_barks(
    systemd: Systemd, status_notifier: StatusNotifier
) -> None:
    pinged = []
    for now in range(7):
        status_notifier.update(RUNNING, now / 2)
        pinged += [now / 2 for line in systemd.heard() if line == "WATCHDOG=1"]
    assert pinged == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (RUNNING, "READY=1"),
        (RELOADING, "RELOADING=1"),
        (DRAINING, "STOPPING=1"),
        (DRAINING, EXTENSION),
        (RUNNING, "STATUS=running: 0 of 2 workers ready, 0 tasks running"),
        (RUNNING, "WATCHDOG=1"),
    ],
)
def test_what_systemd_could_not_hear_is_said_again(
    systemd: Systemd, notifier: Notifier, status_notifier: StatusNotifier, view: View, message: str
) -> None:
    clogged(notifier)
    status_notifier.update(view, 0.0)
    assert message not in systemd.heard()
    status_notifier.update(view, 0.1)
    assert message in systemd.heard()
    status_notifier.update(view, 0.2)
    assert message not in systemd.heard()


def test_a_handlers_error_cannot_speak_in_our_name(systemd: Systemd, notifier: Notifier) -> None:
    assert notifier.send(STATUS="exit\nREADY=1\r\n\udcff" + "x" * 5000)
    (line,) = systemd.heard()
    assert line.startswith("STATUS=exit READY=1 \\udcffxxx")
    assert len(line) < 2000


def test_where_nobody_listens_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notifier = Notifier()
    assert notifier.send(READY=1)
    notifier.close()
