"""The first steps of a forked child."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from holdfast.exits import ChildExit
from holdfastd.parent.child_setup import ChildSetup, run_child

RAN = 0
TERMINAL = 1


def test_a_child_whose_parent_has_died_before_it_looked_runs_nothing() -> None:
    ours, theirs = socket.socketpair()
    setup = ChildSetup("i" * 32, "orphan", "orphan", lambda _: RAN)
    with ours, theirs:
        pid = os.fork()
        if pid == 0:
            os._exit(run_child(setup, theirs, parent=os.getppid() + 1))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == ChildExit.ORPHANED


def test_a_child_does_not_read_what_its_parent_reads() -> None:
    ours, theirs = socket.socketpair()
    setup = ChildSetup(
        "i" * 32,
        "child",
        "child",
        lambda _: RAN if Path("/proc/self/fd/0").readlink() == Path(os.devnull) else TERMINAL,
    )
    parent = os.getpid()
    reads, writes = os.pipe()
    with ours, theirs:
        pid = os.fork()
        if pid == 0:
            os.dup2(reads, 0)
            os._exit(run_child(setup, theirs, parent))
        os.close(reads)
        os.close(writes)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == RAN
