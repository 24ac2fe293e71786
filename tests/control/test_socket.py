"""The control socket of a real parent: what it answers, and what it survives."""

from __future__ import annotations

import signal
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfastd.control import client
from holdfastd.control.socket_protocol import AskStatus, ControlError, NotRunningError
from tests.parent.service import Service

Start = Callable[..., Service]


@pytest.fixture
def service(start: Start) -> Service:
    return start(worker="finishing").started()


def connect(service: Service) -> socket.socket:
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(str(service.folder / "control.sock"))  # waits for room in the backlog
    stream.settimeout(20.0)
    return stream


def test_status_tells_of_every_process(service: Service) -> None:
    status = service.status()
    assert (status.ok, status.pid, status.state, status.target, status.ready) == (True, service.pid, "running", 2, 2)
    assert [(each.kind, each.slot) for each in status.processes] == [("steward", 0), ("worker", 0), ("worker", 1)]
    first = status.processes[1]
    assert (first.pid, first.state, len(first.incarnation)) == (service.pid_of("worker 0"), "ready", 32)
    assert first.memory_bytes is not None
    assert first.memory_bytes > 1_000_000
    assert status.store.url == "redis://nowhere"
    assert (status.degraded, status.breaker, status.deaths.total) == ("", "", 0)


def test_status_tells_of_deaths(service: Service) -> None:
    gone = service.kill("worker 1")
    service.until("ready", slot="worker 1")
    status = service.status()
    (death,) = status.deaths.recent
    assert (death.kind, death.slot, death.pid, death.cause, death.detail) == ("worker", 1, gone, "signal", "SIGKILL")
    assert (death.status, death.lived > 0) == (-signal.SIGKILL, True)
    assert death.peak_bytes is not None
    assert death.peak_bytes > 1_000_000
    assert [each.restarts for each in status.processes] == [0, 0, 1]


def test_scaling_up_and_down(service: Service) -> None:
    assert service.scale(3).target == 3
    service.until("ready", slot="worker 2")
    assert service.scale(1).target == 1
    service.until("ended as ordered")
    service.until("ended as ordered")
    assert service.status().ready == 1


def test_an_impossible_size_is_refused_with_a_reason(service: Service) -> None:
    with pytest.raises(ControlError, match="must be between 1 and 10000"):
        service.scale(0)


def test_stop_answers_and_the_connection_ends_with_the_service(service: Service) -> None:
    assert client.stop(service.folder, wait=20.0) == 0
    assert service.ended() == 0


def test_a_stop_that_takes_longer_is_not_waited_for(start: Start) -> None:
    service = start(worker="busy", policy={"drain_timeout": 600}).started()
    assert client.stop(service.folder, wait=0.05) is None
    with pytest.raises(ControlError, match="draining"):
        service.scale(5)
    assert service.status().state == "draining"
    service.send(signal.SIGQUIT)
    assert service.ended() == 75


@pytest.mark.parametrize(
    "line", [b"nonsense", b"{}", b'{"do":"dance"}', b'{"do":"scale"}', b'{"do":"scale","workers":"x"}']
)
def test_what_is_no_request_is_refused_in_words(service: Service, line: bytes) -> None:
    with connect(service) as stream:
        stream.sendall(line + b"\n")
        assert b'"ok":false' in stream.recv(4096)
    assert service.status().ok


def test_several_requests_on_one_connection_are_answered_in_order(service: Service) -> None:
    with connect(service) as stream, stream.makefile("rb") as answers:
        stream.sendall(b'{"do":"status"}\nnonsense\n{"do":"sta')
        stream.sendall(b'tus"}\n')
        assert [b'"ok":true' in answers.readline() for _ in range(3)] == [True, False, True]


def test_a_line_without_end_is_cut_off(service: Service) -> None:
    with connect(service) as stream:
        stream.sendall(b"x" * 10_000)
        assert stream.recv(1) == b""
    assert service.status().ok


def test_a_client_that_stalls_holds_up_nobody(service: Service) -> None:
    with connect(service) as asking, connect(service) as silent:
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for _ in range(50):  # it never reads its answers
            asking.sendall(b'{"do":"status"}\n')
        silent.sendall(b'{"do":')
        service.kill("worker 0")
        service.until("ready", slot="worker 0")
        assert service.status().ready == 2


def test_of_more_clients_than_there_is_room_for_the_one_that_was_idle_longest_gives_way(service: Service) -> None:
    streams: list[socket.socket] = []
    try:
        streams += [connect(service) for _ in range(70)]
        streams[-1].sendall(b'{"do":"status"}\n')
        assert b'"ok":true' in streams[-1].recv(65536)
        assert [stream.recv(1) for stream in streams[:6]] == [b""] * 6
        streams[6].sendall(b'{"do":"status"}\n')
        assert b'"ok":true' in streams[6].recv(65536)
    finally:
        for stream in streams:
            stream.close()


def test_idle_clients_keep_no_command_out(service: Service) -> None:
    """As many as there may be, renewed as fast as they are closed."""
    enough = threading.Event()

    def hold() -> None:
        held: list[socket.socket] = []
        while not enough.is_set():
            held = [stream for stream in held if stream.fileno() >= 0 and not closed(stream)]
            held += [connect(service) for _ in range(64 - len(held))]
            holds.set()
        for stream in held:
            stream.close()

    holds = threading.Event()
    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert holds.wait(20.0)
    assert [service.status().ready for _ in range(20)] == [2] * 20
    enough.set()
    holder.join()


def closed(stream: socket.socket) -> bool:
    """True if the other end has closed it; then this end is closed, too."""
    stream.setblocking(False)
    try:
        is_closed = stream.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        is_closed = True
    stream.close()
    return is_closed


def test_the_socket_is_for_owner_and_group(service: Service) -> None:
    assert stat.S_IMODE((service.folder / "control.sock").stat().st_mode) == 0o660


def test_the_socket_goes_with_the_service(service: Service) -> None:
    assert service.stopped() == 0
    assert not (service.folder / "control.sock").exists()


def test_nobody_there_is_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(NotRunningError, match="no supervisor runs in"):
        client.ask(tmp_path, AskStatus())


def test_a_socket_that_a_killed_parent_left_is_nobody(service: Service) -> None:
    service.send(signal.SIGKILL)
    service.ended()
    with pytest.raises(NotRunningError):
        client.ask(service.folder, AskStatus())


def test_a_parent_that_does_not_answer_is_a_named_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control.sock"))
        listener.listen()
        with pytest.raises(ControlError, match="did not answer"):
            client.ask(tmp_path, AskStatus(), timeout=0.05)
