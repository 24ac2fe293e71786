"""A real steward in a process of its own, with this test as its parent at the other end of the socketpair.

with steward(settings) as child:
    child.hear(Ready)
    child.tell(Died(...))
    child.hear(Acknowledged)
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from holdfast.ipc.channel import FromChild, FromParent, decode_from_child, encode
from holdfast_config import Settings
from tests.forked import Program, popen

PATIENCE = 30.0  # seconds until a test gives up on a message or an exit

Message = TypeVar("Message", bound=FromChild)


@dataclass
class Steward:
    process: Program
    channel: socket.socket

    def __post_init__(self) -> None:
        self._lines = self.channel.makefile("rb")

    def tell(self, *messages: FromParent) -> None:
        self.channel.sendall(b"".join(map(encode, messages)))

    def hear(self, kind: type[Message], like: Callable[[Message], bool] = lambda _: True) -> Message:
        """Wait for the next message of this kind that is like this; others are passed over."""
        until = time.monotonic() + PATIENCE
        while (line := self._lines.readline()) and time.monotonic() < until:
            message = decode_from_child(line)
            if isinstance(message, kind) and like(message):
                return message
        state = "still runs" if line else f"ended with {self.exit_code()}"
        raise AssertionError(f"the steward {state} and has not said that {kind.__name__}")

    def hang_up(self) -> None:
        """As when the parent dies."""
        self._lines.close()
        self.channel.close()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE)


@contextmanager
def steward(settings: Settings, *, first: bool = True, dies: str = "", buffer: int = 0) -> Iterator[Steward]:
    """`dies`: before-recovering or after-recovering. `buffer`: bytes that the kernel takes of the steward at once."""
    ours, theirs = socket.socketpair()
    if buffer:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    ours.settimeout(PATIENCE)
    values = settings.model_dump_json(exclude_unset=True)
    arguments = [str(theirs.fileno()), values, "first" if first else "later", dies]
    process = popen("tests.steward.program", arguments, env=os.environ, pass_fds=[theirs.fileno()])
    theirs.close()
    child = Steward(process, ours)
    try:
        yield child
    finally:
        process.kill()
        process.wait()
        child.hang_up()
