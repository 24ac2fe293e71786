"""The last words of a child."""

from __future__ import annotations

import os
import socket

from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed, encode
from holdfastd.core.parent_events import Event, Exited, MessageReceived
from holdfastd.core.slots import ChildKind, Slot
from holdfastd.parent.children import CallbackSelector, ChildListener, Children
from holdfastd.parent.fork import ForkedChild

LAST = BootFailed(ChildExit.BOOT_FAILED, "no such module")
SLOT = Slot(ChildKind.WORKER, 0)
INCARNATION = "i" * 32


def test_what_a_child_said_before_its_death_is_heard_before_its_end() -> None:
    events: list[Event] = []
    children = Children()
    listener = ChildListener(CallbackSelector(), children, events.append, lambda _slot, _pid: None)
    ours, theirs = socket.socketpair()
    with theirs:
        pid = os.fork()
        if pid == 0:
            theirs.sendall(encode(LAST))
            os._exit(0)
    process = children.adopt(SLOT, INCARNATION, ForkedChild(pid, None, ours))
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    listener.reaper.collect(process)
    assert [type(event) for event in events] == [MessageReceived, Exited]
    assert events[0] == MessageReceived(SLOT, INCARNATION, LAST)
