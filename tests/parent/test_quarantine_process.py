"""Quarantine workers of a real parent: forked beside the pool, shown, and never mistaken for a part of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfastd.control.socket_protocol import SupervisorStatus
from holdfastd.core.restart import LEAST
from tests.parent.service import PATIENCE, Service

Start = Callable[..., Service]


def test_one_is_forked_beside_the_pool_while_suspects_wait(start: Start) -> None:
    service = start(steward="suspecting_steward", quarantine="finishing").started()
    service.ever("ready", slot="worker 1")
    line = service.ever("ready", slot="quarantine 0")
    status = service.status()
    assert (status.target, status.ready) == (2, 2)
    (process,) = [each for each in status.processes if each.kind == "quarantine"]
    assert (process.slot, process.pid, process.state) == (0, line["pid"], "ready")
    assert (status.quarantine.waiting > 0, status.quarantine.most, status.quarantine.held_back) == (True, 1, "")
    assert service.stopped() == 0


def test_those_that_their_suspect_ends_open_no_breaker_and_touch_no_worker_of_the_pool(start: Start) -> None:
    service = start(steward="suspecting_steward", quarantine="poisoned").started()
    for _ in range(LEAST + 5):
        service.until("died", slot="quarantine 0", cause="signal: SIGKILL", running=["poison"])
    status = service.status()
    assert (status.breaker, status.ready) == ("", 2)
    assert {each.restarts for each in status.processes if each.kind == "worker"} == {0}


def test_one_that_cannot_boot_ends_no_service_and_is_told_of(start: Start) -> None:
    service = start(steward="suspecting_steward", quarantine="unbootable").started()
    for _ in range(3):
        service.until("died", slot="quarantine 0")
    status = held_back(service)
    assert (status.state, status.ready) == ("running", 2)
    assert "a quarantine worker could not start: boot failure" in status.quarantine.held_back


def test_without_room_on_the_host_none_is_forked_and_the_status_says_why(start: Start) -> None:
    service = start(steward="suspecting_steward", descriptors=106).started()
    status = held_back(service)
    assert status.quarantine.held_back.startswith("this host has no room for it: a process may have 106 files open")
    assert "quarantine" not in {each.kind for each in status.processes}


def held_back(service: Service) -> SupervisorStatus:
    """The first status that says why none is forked: the steward has told of suspects, and none boots right now."""
    given_up = time.monotonic() + PATIENCE
    while time.monotonic() < given_up:
        if (status := service.status()).quarantine.held_back:
            return status
    raise AssertionError(f"nothing is held back\n{service.log_text()}")
