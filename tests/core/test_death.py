"""The causes of deaths, and which of them count against tasks."""

from __future__ import annotations

import signal

import pytest

from holdfast.ipc.channel import Beat, Died, Drained, Ready
from holdfastd.control.report import Moment, report
from holdfastd.control.socket_protocol import StoreStatus
from holdfastd.core.commands import Command
from holdfastd.core.parent_events import Event, Exited, ScaleAsked
from tests.core.histories import STEWARD, TERM, History, sent, worker

W = worker(0)


def reported_deaths(commands: list[Command]) -> list[tuple[str, bool]]:
    return [(each.cause, each.charged) for each in sent(commands, STEWARD) if isinstance(each, Died)]


@pytest.mark.parametrize(
    ("status", "oom", "cause", "charged"),
    [
        (-signal.SIGKILL, False, "signal: SIGKILL", True),
        (-signal.SIGKILL, True, "out of memory: killed by the kernel", True),
        (-signal.SIGSEGV, True, "signal: SIGSEGV", True),
        (-64, False, "signal: SIGRTMAX", True),
        (-99, False, "signal: signal 99", True),
        (0, False, "exit: status 0", True),
        (1, False, "exit: status 1", True),
        (82, False, "fenced: status 82", False),
        (83, False, "stuck: status 83", True),
        (86, False, "orphaned: status 86", False),
        (78, False, "boot failure: status 78", False),
    ],
)
def test_an_unasked_end_is_classified(status: int, oom: bool, cause: str, charged: bool) -> None:
    assert reported_deaths(History(1).started().die(W, status, oom=oom)) == [(cause, charged)]


def test_draining_by_a_signal_of_its_own_is_not_charged_and_replaced_at_once() -> None:
    history = History(1).started()
    history.hear(W, Drained(1))
    assert reported_deaths(history.die(W, 0)) == [("requested: drained by a signal sent to it", False)]
    assert history.workers() == [W]


@pytest.mark.parametrize("order", [TERM, ScaleAsked(1)])
@pytest.mark.parametrize(
    ("status", "charged"), [(0, False), (-signal.SIGSEGV, True), (-signal.SIGKILL, True), (1, True)]
)
def test_an_order_explains_a_clean_end_and_no_other(order: Event, status: int, charged: bool) -> None:
    history = History(2).started()
    history.event(order)
    history.tick()
    assert reported_deaths(history.die(worker(1), status))[0][1] is charged


def test_a_kill_by_the_parent_itself_is_not_charged() -> None:
    history = History(1).started()
    for _ in range(3):
        history.event(TERM)
        history.tick()
    assert reported_deaths(history.die(W, -signal.SIGKILL)) == [("requested: stop, SIGKILL", False)]


def test_a_boot_error_names_its_line() -> None:
    history = History(2).started()
    history.die(W, -signal.SIGKILL)
    assert reported_deaths(history.boot_failed(W, 78, "no module named agent")) == [
        ("boot failure: no module named agent", False)
    ]


def test_a_hung_worker_is_charged() -> None:
    history = History(1).started()
    history.pass_time(65.0, silent=[W])
    assert reported_deaths(history.die(W, -signal.SIGABRT)) == [("hung: silent, SIGABRT", True)]


def test_a_death_tells_how_it_lived() -> None:
    history = History(1).started()
    history.hear(W, Beat([f"t{number}" for number in range(20)], 3))
    history.tick(after=0.5)
    born = history.child(W).born
    history.event(Exited(W, history.child(W).incarnation, -signal.SIGKILL, False, 0.0, peak_bytes=5 << 20))
    store, moment = StoreStatus("redis://nowhere", embedded=False), Moment(history.now, 1.7e9, 0.0)
    (death,) = report(history.view, store, {}, moment).deaths.recent
    assert (death.status, death.lived, death.peak_bytes) == (-signal.SIGKILL, round(history.now - born, 3), 5 << 20)
    assert death.running == [f"t{number}" for number in range(8)]


def test_the_last_deaths_are_kept_and_all_are_counted() -> None:
    history = History(1).started()
    for _ in range(60):
        history.pass_time(2.0)
        history.die(W, -signal.SIGKILL)
        history.hear(W, Ready())
        history.hear(W, Beat([], 1))
    assert history.view.death_count == 60
    assert len(history.view.deaths) == 50
