"""Small real children for the parent under test: they speak the channel and misbehave in one way each."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.exits import ChildExit
from holdfast.ipc.channel import (
    Acknowledged,
    Beat,
    BootFailed,
    Born,
    Died,
    Drain,
    Drained,
    FromChild,
    FromParent,
    Leave,
    Ready,
    SuspectsWaiting,
    decode_from_parent,
    encode,
)
from holdfastd.parent import loader
from holdfastd.parent.preload_handler import NotShareableError

BEAT = 0.1
IDLE = Beat()

WorkerMain = Callable[[str, int, socket.socket], int]


def report(event: str, **fields: object) -> None:
    """A line for the test, among those of the parent's log."""
    os.write(2, json.dumps({"event": event, **fields}).encode() + b"\n")


class Talk:
    """A child's end of the channel, as small as it can be."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._torn = b""

    def say(self, *messages: FromChild) -> None:
        """In one piece, so that nobody can end this process in between."""
        self.channel.sendall(b"".join(map(encode, messages)))

    def hear(self, beat: FromChild | None = IDLE) -> Iterator[FromParent]:
        """Messages of the parent until it is gone; beats in between."""
        while True:
            readable, _, _ = select.select([self.channel], [], [], BEAT)
            if beat is not None:
                self.say(beat)
            if not readable:
                continue
            chunk = self.channel.recv(65536)
            if not chunk:
                return
            *lines, self._torn = (self._torn + chunk).split(b"\n")
            yield from map(decode_from_parent, lines)


def plain(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Ready, idle, of use (it settles at once), leaves when asked."""
    talk = Talk(channel)
    talk.say(Ready(), Beat([], 1))
    for message in talk.hear(Beat([], 1)):
        if isinstance(message, Drain):
            talk.say(Drained(0))
            return ChildExit.OK
    return ChildExit.ORPHANED


def busy(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Runs a task that ends only when it is cancelled: it is released then."""
    talk = Talk(channel)
    talk.say(Ready())
    cancel_at = float("inf")
    running = Beat(["task"])
    while time.monotonic() < cancel_at:
        readable, _, _ = select.select([channel], [], [], min(BEAT, max(0.0, cancel_at - time.monotonic())))
        talk.say(running)
        if readable:
            message = next(talk.hear(running), None)
            if message is None:
                return ChildExit.ORPHANED
            assert isinstance(message, Drain)
            cancel_at = message.cancel_at
            report("asked to drain", slot=slot)
    talk.say(Drained(1))
    return ChildExit.OK


def finishing(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Runs a task that is done soon after it was asked to drain."""
    talk = Talk(channel)
    talk.say(Ready())
    for message in talk.hear(Beat(["task"])):
        if isinstance(message, Drain):
            talk.say(Drained(0))
            return ChildExit.OK
    return ChildExit.ORPHANED


def deaf(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Ready, beats, and ignores whatever can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
    talk = Talk(channel)
    talk.say(Ready())
    for _ in talk.hear(Beat(["task"])):
        pass
    return ChildExit.ORPHANED


def unwilling(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Blocks SIGTERM, but listens to its channel."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    return plain(incarnation, slot, channel)


def stone(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Ready, then neither hears nor heeds anything but SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
    return hung(incarnation, slot, channel)


def hung(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Ready, then never heard of again."""
    Talk(channel).say(Ready())
    while True:
        signal.pause()


def slow_to_boot(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Never gets ready, as in an import that hangs."""
    report("booting")
    while True:
        signal.pause()


def unbootable(incarnation: str, slot: int, channel: socket.socket) -> int:
    talk = Talk(channel)
    talk.say(BootFailed(ChildExit.BOOT_FAILED, "no module named agent", "Traceback: the handler's own\n"))
    return ChildExit.BOOT_FAILED


def short_lived(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Dies as soon as it is ready."""
    Talk(channel).say(Ready())
    return 1


def unready(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Dies before it is ready, without a word."""
    return 1


def poisoned(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Has a task that ends it."""
    Talk(channel).say(Ready(), Beat(["poison"]))
    os.kill(os.getpid(), signal.SIGKILL)
    return ChildExit.BUG


def quitting(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Exits with 0 although nobody has asked it to, as a handler that calls os._exit(0)."""
    Talk(channel).say(Ready(), Beat([], 1))
    return ChildExit.OK


def raising(incarnation: str, slot: int, channel: socket.socket) -> int:
    Talk(channel).say(Ready())
    raise RuntimeError("a bug in the child")


def leaving_grandchildren(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Has started a nameless process in its group, one that fled by setsid, one that fled and was only forked."""
    for fled in (False, True):
        kept = (channel.fileno(),)
        environment = None if fled else {"PATH": os.defpath}
        grandchild = subprocess.Popen(["sleep", "1000"], start_new_session=fled, pass_fds=kept, env=environment)
        report("grandchild", of=slot, pid=grandchild.pid)
    forked = os.fork()
    if forked == 0:
        os.setsid()
        report("grandchild", of=slot, pid=os.getpid())
        while True:
            signal.pause()
    return plain(incarnation, slot, channel)


def daemonizing(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Starts a stranger: its own parent is gone at once, and it ends with a status that means much here."""
    subprocess.run(["sh", "-c", "(exit 78) & exit 0"], check=True)
    return plain(incarnation, slot, channel)


def curious(incarnation: str, slot: int, channel: socket.socket) -> int:
    """Tells what it was born with."""
    report(
        "born with",
        descriptors=sorted({int(link.name) for link in Path("/proc/self/fd").iterdir()} - {channel.fileno()}),
        stdin=str(Path("/proc/self/fd/0").readlink()),
        mask=len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        term=signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
        leads=os.getpgid(0) == os.getpid(),
        threads=threading.active_count(),
        title=Path("/proc/self/cmdline").read_bytes().rstrip(b"\0").decode()
        == f"holdfast: worker {slot} {incarnation}",
        name=Path("/proc/self/comm").read_text().strip(),
        inherits=subprocess.run(["printenv", "HOLDFAST_INCARNATION"], capture_output=True).stdout.decode().strip()
        == incarnation,
        notify="NOTIFY_SOCKET" in os.environ,
    )
    return plain(incarnation, slot, channel)


def steward(log: Path, first: bool, channel: socket.socket) -> int:
    """Writes down its messages, acknowledges deaths."""
    talk = Talk(channel)
    talk.say(Ready())
    for message in talk.hear():
        with log.open("a") as file:
            print(os.getpid(), first, encode_message(message), file=file)
        if isinstance(message, Died):
            talk.say(Acknowledged(message.incarnation, int(message.cause.startswith("signal"))))  # others owned nothing
        if isinstance(message, Leave):
            return ChildExit.OK
    return ChildExit.ORPHANED


def suspecting_steward(log: Path, first: bool, channel: socket.socket) -> int:
    """Says all the while that three suspects may start."""
    talk = Talk(channel)
    talk.say(Ready())
    for message in talk.hear(SuspectsWaiting(3)):
        if isinstance(message, Died):
            talk.say(Acknowledged(message.incarnation, int(message.cause.startswith("signal"))))
        if isinstance(message, Leave):
            return ChildExit.OK
    return ChildExit.ORPHANED


def encode_message(message: FromParent) -> str:
    match message:
        case Born(incarnation=incarnation):
            return f"born {incarnation}"
        case Died(incarnation=incarnation, cause=cause, charged=charged):
            return f"died {incarnation} {'charged' if charged else 'uncharged'} {cause}"
        case Leave():
            return "leave"
        case Drain():
            return "drain"


def mute_steward(log: Path, first: bool, channel: socket.socket) -> int:
    """Writes down its messages and acknowledges nothing."""
    talk = Talk(channel)
    talk.say(Ready())
    for message in talk.hear():
        with log.open("a") as file:
            print(os.getpid(), first, encode_message(message), file=file)
        if isinstance(message, Leave):
            return ChildExit.OK
    return ChildExit.ORPHANED


def unfit_steward(log: Path, first: bool, channel: socket.socket) -> int:
    Talk(channel).say(BootFailed(ChildExit.UNAVAILABLE, "the store at redis://elsewhere cannot be reached"))
    return ChildExit.UNAVAILABLE


loaded_by: int | None = None  # the process that has imported the "handler"


def loaded(incarnation: str, slot: int, channel: socket.socket) -> int:
    """As plain, and says which process has imported what it runs."""
    report("loaded", by=loaded_by, slot=slot, pid=os.getpid())
    return plain(incarnation, slot, channel)


WORKERS: dict[str, WorkerMain] = {
    each.__name__: each
    for each in (
        plain,
        loaded,
        busy,
        finishing,
        deaf,
        unwilling,
        hung,
        stone,
        slow_to_boot,
        unbootable,
        short_lived,
        unready,
        raising,
        leaving_grandchildren,
        daemonizing,
        curious,
        quitting,
        poisoned,
    )
}
STEWARDS: dict[str, Callable[[Path, bool, socket.socket], int]] = {
    each.__name__: each for each in (steward, mute_steward, unfit_steward, suspecting_steward)
}


def nothing() -> tuple[int, ...]:
    """An import without effects."""
    return ()


def marking() -> tuple[int, ...]:
    """An import that remembers its process."""
    global loaded_by
    loaded_by = os.getpid()
    return ()


def threading_import() -> tuple[int, ...]:
    marking()
    threading.Thread(target=threading.Event().wait).start()
    raise NotShareableError("its import started 1 thread")


def hanging_import() -> tuple[int, ...]:
    marking()
    time.sleep(1000)
    return ()


def crashing_import() -> tuple[int, ...]:
    marking()
    os.kill(os.getpid(), signal.SIGSEGV)
    return ()


def dying_at_a_fork() -> tuple[int, ...]:
    """The import is fine, and the loader dies when it is asked for its first worker."""

    def die(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    loader._fork_orphan = die
    return marking()


LOADS: dict[str, Callable[[], tuple[int, ...]]] = {
    each.__name__: each
    for each in (nothing, marking, threading_import, hanging_import, crashing_import, dying_at_a_fork)
}
