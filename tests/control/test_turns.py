"""The control socket in one turn of its loop: a real socket, a real loop, counted answers."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from holdfastd.control.server import ControlServer
from holdfastd.control.socket_protocol import Answer, AskScale, AskStatus, ControlRequest, Scaled
from holdfastd.parent.children import CallbackSelector
from tests.parent.service import PATIENCE, Service

STATUS = b'{"do":"status"}\n'


class Stage:
    """A server whose answers are counted; `turn` is one turn of its loop."""

    def __init__(self, folder: Path) -> None:
        self.asked = list[ControlRequest]()
        self._path = folder / "control.sock"
        self._loop = CallbackSelector()
        self._server = ControlServer(self._path, self._loop, self._answer)
        self._open = ExitStack()

    def client(self) -> socket.socket:
        stream = self._open.enter_context(socket.socket(socket.AF_UNIX))
        stream.connect(str(self._path))
        stream.setblocking(False)
        self.turn()  # accepted
        return stream

    def turn(self) -> None:
        self._loop.turn(0.0)
        self._server.tick(0.0)

    def close(self) -> None:
        self._open.close()
        self._server.close(None)
        self._loop.close()

    def _answer(self, request: ControlRequest) -> Answer:
        self.asked.append(request)
        return Scaled(len(self.asked))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def received(stream: socket.socket) -> bytes:
    try:
        return stream.recv(1 << 20)
    except BlockingIOError:
        return b""


def test_a_client_gets_one_answer_in_a_turn(stage: Stage) -> None:
    client = stage.client()
    client.sendall(STATUS * 3 + b'{"do":"sta')
    answers = []
    for _ in range(4):
        stage.turn()
        answers.append(received(client).count(b"\n"))
    assert answers == [1, 1, 1, 0]
    client.sendall(b'tus"}\n')
    stage.turn()
    assert received(client).count(b"\n") == 1


def test_clients_that_ask_the_same_in_a_turn_get_one_answer_made_once(stage: Stage) -> None:
    clients = [stage.client() for _ in range(5)]
    for client in clients:
        client.sendall(STATUS)
    clients[4].sendall(STATUS)
    stage.turn()
    assert {received(client) for client in clients} == {b'{"target":1,"ok":true}\n'}
    stage.turn()
    assert received(clients[4]) == b'{"target":2,"ok":true}\n'
    assert stage.asked == [AskStatus(), AskStatus()]


def test_other_requests_of_a_turn_get_answers_of_their_own(stage: Stage) -> None:
    clients = [stage.client() for _ in range(2)]
    for workers, client in enumerate(clients):
        client.sendall(b'{"do":"scale","workers":%d}\n' % workers)
    stage.turn()
    assert stage.asked == [AskScale(0), AskScale(1)]


def test_a_client_that_does_not_read_is_not_read_either(stage: Stage) -> None:
    client = stage.client()
    sent = 0
    for _ in range(1000):
        with suppress(BlockingIOError):
            sent += client.send(STATUS * 1000)
        stage.turn()
    stopped_at = len(stage.asked)
    stage.turn()
    assert len(stage.asked) == stopped_at < sent // len(STATUS)
    while received(client):  # it reads again, and is served again
        stage.turn()
    assert len(stage.asked) > stopped_at


def test_a_client_that_asks_a_line_too_long_is_cut_off(stage: Stage) -> None:
    client = stage.client()
    client.sendall(b"x" * 5000 + b"\n")
    stage.turn()
    assert client.recv(1) == b""


def fill(stream: socket.socket, line: bytes) -> int:
    """Send as many lines as the socket takes; how many."""
    stream.setblocking(False)
    sent = 0
    with suppress(BlockingIOError):
        while True:
            sent += stream.send(line * 100)
    stream.setblocking(True)
    return sent // len(line)


@pytest.mark.parametrize("line", [STATUS, b"no request\n"])
def test_a_flood_of_requests_holds_up_no_other_client(start: Callable[..., Service], line: bytes) -> None:
    """Another client changes the target: few answers to the flood still tell the one before."""
    service = start(worker="finishing").started()
    with ExitStack() as streams:
        flood, other = (streams.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        flood.connect(str(service.folder / "control.sock"))
        flood.sendall(line)
        answers = streams.enter_context(flood.makefile("rb"))
        assert answers.readline()  # served
        service.send(signal.SIGSTOP)
        asked = fill(flood, line * 9 + STATUS)
        other.connect(str(service.folder / "control.sock"))
        other.sendall(b'{"do":"scale","workers":3}\n')
        service.send(signal.SIGCONT)
        flood.settimeout(PATIENCE)
        before = 0
        while b'"target":3' not in answers.readline():
            before += 1
        assert before < asked // 10
        flood.shutdown(socket.SHUT_RDWR)
    assert service.stopped() == 0
