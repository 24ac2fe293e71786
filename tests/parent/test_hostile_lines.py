"""No loop ends by what a peer, a child or a file says: each reader is given lines that no honest end sends."""

from __future__ import annotations

import ast
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from holdfast.client.store_source import running_supervisor
from holdfast.errors import StoreError
from holdfast.ipc.channel import (
    Acknowledged,
    Beat,
    BootFailed,
    Born,
    Changed,
    Died,
    Drain,
    Drained,
    FromChild,
    Leave,
    Left,
    Logged,
    Ready,
    Silent,
    SuspectsWaiting,
    decode_from_child,
    encode,
)
from holdfast.ipc.child_end import ParentLink
from holdfast.os.locks import MARKED, marked_process
from holdfastd.control import client
from holdfastd.control.client import status_or_none
from holdfastd.control.report import Moment, report
from holdfastd.control.server import ControlServer
from holdfastd.control.socket_protocol import (
    CONTROL_SOCKET,
    Answer,
    AskReload,
    AskScale,
    AskStacks,
    AskStatus,
    AskStop,
    Begun,
    ControlError,
    ControlRequest,
    DeathStatus,
    ProcessStatus,
    Refused,
    ReloadResult,
    Scaled,
    StopResult,
    StoreStatus,
)
from holdfastd.control.socket_protocol import encode as encode_control
from holdfastd.core.commands import Log
from holdfastd.core.parent_events import Event, MessageReceived
from holdfastd.core.slots import LOADER, STEWARD, WATCHER, WEB, ChildKind, Slot, SupervisionPolicy
from holdfastd.embedded.data_folder import DataFolder, EngineVersion, StoreLaunchError, read_start_failure
from holdfastd.parent import host, loader
from holdfastd.parent.children import CallbackSelector, ChildListener, Children
from holdfastd.parent.fork import ForkedChild, fork_by_loader
from holdfastd.parent.loader import ForkAnswer, ForkRequest, LoaderClient
from tests.core.histories import History, worker
from tests.hostile_lines import BROKEN, hostile_lines
from tests.parent.service import Service

ROOT = Path(__file__).parents[2]
STATUS = b'{"do":"status"}\n'
COUNT = 500
INCARNATION = "i" * 32


def lines_like(messages: Sequence[object], encoded: Callable[[object], bytes], seed: int) -> list[bytes]:
    return list(hostile_lines([encoded(each).rstrip(b"\n") for each in messages], COUNT, random.Random(seed)))


REQUESTS = [AskStatus(), AskScale(3), AskStacks(INCARNATION), AskReload(wait=True), AskStop(now=True)]
OF_CHILDREN: list[FromChild] = [
    Ready(["mail.send", "greet"], 3),
    Beat(["t1", "t2"], 3, "degraded", "old"),
    BootFailed(78, "no module", "Traceback"),
    Drained(1, 2),
    Acknowledged(INCARNATION, 2),
    Left(left=True, ended={"completed": 3}, delayed=1, due_in=2.5, unserved=1),
    Changed(["agent.py"]),
    SuspectsWaiting(2, 1, "quiet"),
]
OF_PARENTS = [Drain(1.5, 2.5), Born("a"), Died("a", "signal 9", charged=True, at=1.0), Silent("a"), Leave(3.0)]


# The control socket


class Server:
    """A control server on a real loop, with the answers of a parent."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "control.sock"
        self.loop = CallbackSelector()
        self.server = ControlServer(self.path, self.loop, self.answer)

    def answer(self, request: ControlRequest) -> Answer:
        match request:
            case AskScale(workers=666):
                raise RuntimeError("a bug")
            case AskScale(workers=workers):
                return Scaled(workers)
            case AskStacks(incarnation=incarnation):
                return Refused(f"no worker {incarnation[:80]} is ready here")
            case AskReload():
                return Begun()
            case AskStop():
                return Begun()
            case AskStatus():
                return Scaled(1)

    def turn(self) -> None:
        self.loop.turn(0.0)
        self.server.tick(0.0)

    @contextmanager
    def client(self) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(self.path))
            stream.setblocking(False)
            self.turn()
            yield stream
        self.turn()

    def answered(self, line: bytes) -> bytes:
        with self.client() as stream:
            stream.sendall(line)
            self.turn()
            with suppress(BlockingIOError):
                return stream.recv(1 << 20)
            return b""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.server.close(None)
    server.loop.close()


def test_no_request_ends_the_control_socket(server: Server) -> None:
    for line in lines_like(REQUESTS, encode_control, seed=1):
        answer = server.answered(line + b"\n")
        assert answer.endswith(b"\n") or len(line) > 4096, line
    assert b'"ok":true' in server.answered(STATUS)


def test_a_client_that_cannot_be_served_is_dropped_and_the_others_are_served(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    with server.client() as failing, server.client() as other:
        failing.sendall(b'{"do":"scale","workers":666}\n')
        other.sendall(STATUS)
        server.turn()
        server.turn()
        assert failing.recv(100) == b""
        assert b'"ok":true' in other.recv(100)
    assert b'"ok":true' in server.answered(STATUS)
    printed = "".join(capfd.readouterr())
    assert "cannot be served" in printed


def test_a_supervisor_survives_what_is_no_request(start: Callable[..., Service]) -> None:
    service = start(worker="finishing").started()
    for line in (*BROKEN, b'{"do":"\xff"}', b'{"do":"status","x":' + b"[" * 1500 + b"]" * 1500 + b"}"):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(service.folder / "control.sock"))
            stream.settimeout(20.0)
            stream.sendall(line + b"\n")
            assert stream.recv(4096) or len(line) > 4096
    assert service.status().ready == 2
    assert service.stopped() == 0


# The channels of children

SLOTS = [STEWARD, WATCHER, WEB, LOADER, worker(0), worker(1)]
POLICY = SupervisionPolicy(drain_timeout=90.0, hang_timeout=60.0, boot_timeout=60.0, watched=True, web=True)


def report_of(history: History) -> bytes:
    store = StoreStatus("redis://nowhere", embedded=False)
    return encode_control(report(history.view, store, {}, Moment(history.now, 1.7e9, 0.0)))


def test_no_message_of_a_child_ends_the_parent() -> None:
    """Through the channel, the decisions that follow from it, and the status that tells of it."""
    events: list[Event] = []
    children = Children()
    loop = CallbackSelector()
    listener = ChildListener(loop, children, events.append, lambda _slot, _pid: None)
    ours, theirs = socket.socketpair()
    process = children.adopt(worker(0), INCARNATION, ForkedChild(os.getpid(), None, ours))
    listener.watch(process)
    with theirs:
        for line in lines_like(OF_CHILDREN, encode, seed=2):
            theirs.sendall(line + b"\n")
            loop.turn(1.0)
        theirs.sendall(encode(Acknowledged("the last", 1)))
        loop.turn(1.0)
    heard = [event.message for event in events if isinstance(event, MessageReceived)]
    assert heard[-1] == Acknowledged("the last", 1)
    assert len(heard) > len(OF_CHILDREN)
    chance = random.Random(3)
    for _ in range(20):
        history = History(2, replace(POLICY, preloaded=chance.random() < 0.5)).started()
        for message in chance.sample(heard, min(len(heard), 60)):
            slot = chance.choice(SLOTS)
            if history.view.over is None and history.view.child(slot) is not None:
                history.hear(slot, message)
                history.tick(0.1)
                assert report_of(history)
    ours.close()
    loop.close()


@pytest.mark.parametrize("slot", [worker(0), WEB, LOADER], ids=str)
@pytest.mark.parametrize(
    "message", [Left(left=False, ended={}), Changed(["x"]), Acknowledged("x", 1), SuspectsWaiting(9)]
)
def test_a_child_has_no_say_in_what_is_another_child_s(slot: Slot, message: FromChild) -> None:
    """Two empty lanes end a burst, so a handler that could tell of them would end the service."""
    history = History(2, replace(POLICY, preloaded=True)).started()
    before = history.view
    commands = [*history.hear(slot, message), *history.hear(slot, message)]
    assert history.view == before
    assert [type(command) for command in commands] == [Log, Log]


def test_no_message_of_a_parent_ends_a_child() -> None:
    async def heard() -> list[object]:
        ours, theirs = socket.socketpair()
        link = ParentLink(ours)
        got: list[object] = []
        with theirs:
            for line in lines_like([*OF_PARENTS, Logged({"event": "x", "n": 1})], encode, seed=4):
                theirs.sendall(line + b"\n" + encode(Born("next")))
                while (message := await link.receive()) != Born("next"):
                    got.append(message)
        assert await link.receive() is None
        link.close()
        return got

    got = anyio.run(heard)
    assert set(map(type, got)) == {Drain, Born, Died, Silent, Leave, Logged}


# The loader

REQUEST = ForkRequest(INCARNATION, ChildKind.WORKER, 0)


def packets(line: bytes) -> bytes:
    return line[:3000] or b" "


@pytest.fixture
def connected() -> Iterator[tuple[LoaderClient, socket.socket]]:
    loader = LoaderClient()
    theirs = loader.connect()
    yield loader, theirs
    theirs.close()
    loader.close()


def test_no_answer_of_a_loader_ends_the_parent() -> None:
    loader = LoaderClient()
    for line in lines_like([ForkAnswer(77), ForkAnswer(errno=11)], encode_control, seed=5):
        with loader.connect() as theirs, socket.socket(socket.AF_UNIX) as channel:
            theirs.send(packets(line))
            with suppress(OSError):
                assert 0 <= loader.fork(REQUEST, channel) <= 1 << 22
    loader.close()


@pytest.mark.parametrize("pid", [0, 1, os.getppid(), (1 << 22) - 1], ids=["none", "init", "another", "nobody"])
def test_a_loader_cannot_name_a_process_that_is_no_new_child(
    connected: tuple[LoaderClient, socket.socket], pid: int
) -> None:
    loader, theirs = connected
    theirs.send(encode_control(ForkAnswer(pid)))
    with pytest.raises(ConnectionError, match=f"reported process {pid}"):
        fork_by_loader(REQUEST, loader, lambda _: None)


def test_a_loader_cannot_name_a_child_that_is_known(connected: tuple[LoaderClient, socket.socket]) -> None:
    loader, theirs = connected
    pid = os.fork()
    if not pid:
        os._exit(0)
    theirs.send(encode_control(ForkAnswer(pid)))
    with pytest.raises(ConnectionError, match=f"reported process {pid}"):
        fork_by_loader(REQUEST, loader, lambda known: known == pid)
    os.waitpid(pid, 0)


def test_no_request_ends_the_loader() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read = 0
    with ours, theirs, socket.socket(socket.AF_UNIX) as channel:
        for number, line in enumerate(lines_like([REQUEST], encode_control, seed=6)):
            socket.send_fds(ours, [packets(line)], [channel.fileno()] if number % 2 else [])
            received = loader.receive_request(theirs)
            assert received is not None
            if not isinstance(received, ForkAnswer):
                read += 1
                assert received[0].slot.kind in ChildKind
                received[1].close()
    assert read > 0


# Clients of the control socket

STATUS_ANSWER = report(
    History().started().view, StoreStatus("redis://nowhere", embedded=False), {}, Moment(1005.0, 1.7e9, 0.0)
)
DEATH = DeathStatus(1.7e9, "worker", 0, 7, INCARNATION, "signal", "SIGKILL")
PROCESS = ProcessStatus("worker", 0, 7, INCARNATION, "ready", 1.0, ["t1"], 3, 0, 0, 0.1)
ENDS = [Begun(), ReloadResult(1, 0), StopResult(0), Refused("no")]
ANSWERS = [STATUS_ANSWER, Scaled(3), *ENDS, DEATH, PROCESS]


@contextmanager
def liar(folder: Path, lines: Sequence[bytes]) -> Iterator[None]:
    """Somebody who listens where a supervisor would, and gives each client the next of these answers."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / CONTROL_SOCKET))
        listener.listen()

        def serve() -> None:
            for line in lines:
                stream, _ = listener.accept()
                with stream, suppress(ConnectionError):
                    stream.recv(4096)
                    stream.sendall(line)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join()


def test_no_answer_is_a_bug_of_the_client(tmp_path: Path) -> None:
    said = lines_like(ANSWERS, encode_control, seed=7)
    asks: list[Callable[[], object]] = [
        lambda: client.ask(tmp_path, AskStatus()),
        lambda: client.ask(tmp_path, AskScale(3)),
        lambda: client.reload(tmp_path, 5.0),
        lambda: client.stop(tmp_path, 5.0),
        lambda: anyio.run(status_or_none, tmp_path, 5.0),
        lambda: anyio.run(running_supervisor, tmp_path),
    ]
    answers = [line + b"\n" + (line + b"\n") * (number % 2) for number, line in enumerate(said)]
    with liar(tmp_path, answers):
        for number in range(len(answers)):
            with suppress(ControlError, StoreError):
                asks[number % len(asks)]()


def test_an_answer_without_end_is_not_kept(tmp_path: Path) -> None:
    with liar(tmp_path, [b"x" * (17 << 20)]), pytest.raises(ControlError, match="longer than"):
        client.ask(tmp_path, AskStatus())


def test_a_connection_that_is_refused_is_told_in_words(tmp_path: Path) -> None:
    """As by a supervisor that has no room for another client: it closes before it reads."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / CONTROL_SOCKET))
        listener.listen()
        refuse = threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True)
        refuse.start()
        with pytest.raises(ControlError, match="closed the connection without an answer"):
            client.ask(tmp_path, AskStatus())
        refuse.join()


# Files


def test_the_engine_s_file_may_hold_anything(tmp_path: Path) -> None:
    for line in (b"\xff\xfe", b"valkey " + b"9" * 5000 + b".1.1", b"\x00" * 100, b"valkey 9.1"):
        (tmp_path / "engine").write_bytes(line)
        with pytest.raises(StoreLaunchError, match="must have the form"):
            DataFolder(tmp_path).check(EngineVersion("valkey", (9, 1, 0)))


def test_the_store_s_log_may_hold_anything(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"9" * 5000 + b":M 1 # out of it\n\xff\xfe\n" + b"77:M 1 Jan # Cannot bind\n")
    assert "Cannot bind" in read_start_failure(log, 77)
    assert read_start_failure(log, 9) == ""


def test_a_worker_s_lock_file_may_hold_anything(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    for content in (b"", b"\xff", MARKED, MARKED + b"9" * 5000 + b"\n", MARKED + b"x\n"):
        lock.write_bytes(content)
        assert marked_process(lock) is None
    lock.write_bytes(MARKED + b"4194304\n")
    assert marked_process(lock) == 4194304


def test_a_control_group_may_have_any_name(tmp_path: Path) -> None:
    name = "b\u00fcro\u2028\udcff"
    (tmp_path / name).mkdir()
    membership = tmp_path / "membership"
    membership.write_bytes(b"0::/" + os.fsencode(name) + b"\n")
    assert list(host.groups(tmp_path, membership)) == [tmp_path / name, tmp_path]


# The rule

NARROW = ("msgspec.", "JSONDecodeError", "TOMLDecodeError")
WIDE = ("UNREADABLE_JSON", "RecursionError")


def test_nobody_catches_one_of_the_errors_of_a_decoder_alone() -> None:
    """`DecodeError` without RecursionError: who reads JSON of others would end with a text that is nested deep. A
    ValidationError of a conversion between values is another matter."""
    files = (path for root in ("config", "workers", "supervisor") for path in (ROOT / root).rglob("*.py"))
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Try) and _is_narrow(node)
    ]
    assert found == []


def _is_narrow(node: ast.Try) -> bool:
    caught = " ".join(ast.unparse(each.type) for each in node.handlers if each.type is not None)
    converts = "msgspec.convert(" in "".join(map(ast.unparse, node.body))
    return any(name in caught for name in NARROW) and not any(name in caught for name in WIDE) and not converts


def test_the_lines_are_hostile_and_some_are_honest() -> None:
    """Else the fuzz above would show nothing."""
    outcomes = {"read": 0, "refused": 0}
    for line in lines_like(OF_CHILDREN, encode, seed=8):
        try:
            decode_from_child(line)
            outcomes["read"] += 1
        except (ValueError, RecursionError):
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100, outcomes
