"""The last words of a child."""

from __future__ import annotations

import os
import socket

from holdfast.channel import BootFailed, encode
from holdfast.exits import ChildExit
from holdfastd.core.events import Event, Exited, Heard
from holdfastd.core.slots import Kind, Slot
from holdfastd.parent.ears import Ears
from holdfastd.parent.family import Family
from holdfastd.parent.fork import Newborn
from holdfastd.parent.loop import Loop

LAST = BootFailed(ChildExit.BOOT_FAILED, "no such module")
SLOT = Slot(Kind.WORKER, 0)
INCARNATION = "i" * 32


def test_what_a_child_said_before_its_death_is_heard_before_its_end() -> None:
    events: list[Event] = []
    family = Family()
    ears = Ears(Loop(), family, events.append, lambda _slot, _pid: None)
    ours, theirs = socket.socketpair()
    with theirs:
        pid = os.fork()
        if pid == 0:
            theirs.sendall(encode(LAST))
            os._exit(0)
    process = family.adopt(SLOT, INCARNATION, Newborn(pid, None, ours))
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    ears.reaper.collect(process)
    assert [type(event) for event in events] == [Heard, Exited]
    assert events[0] == Heard(SLOT, INCARNATION, LAST)
