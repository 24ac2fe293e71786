"""Lists what makes a fork of this process unsafe: threads and children, which a fork loses, and open descriptors, which
both processes would share.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfastd.parent import received_signals

LOOKS = 40  # looks until ended threads are gone: the kernel may list them a little longer
PAUSE = 0.005  # seconds between two looks

_SELF = Path("/proc/self")


NULL = "/dev/null"
NATIVE = "of a native library"


@dataclass(frozen=True, slots=True)
class OpenDescriptor:
    """An open descriptor. `target`: a path, or a text such as `socket:[1]`. `appends`: it can only be written to, and
    each write goes to the end of the file."""

    target: str
    appends: bool = False

    @property
    def is_file(self) -> bool:
        """True for a path, False for `socket:[1]`, `pipe:[1]` and `anon_inode:…`."""
        return self.target.startswith("/")

    @property
    def is_shareable(self) -> bool:
        """True if several processes can use it without disturbing one another."""
        return self.target == NULL or (self.is_file and self.appends)


@dataclass(frozen=True, slots=True)
class ForkHazards:
    """The things that a fork would lose or share. `threads`: names by the kernel's thread id; `children`: pids;
    `descriptors`: the open ones by their number."""

    threads: Mapping[int, str]
    children: frozenset[int]
    descriptors: Mapping[int, OpenDescriptor]


def look() -> ForkHazards:
    """Find the hazards that a fork of this process would have now."""
    return ForkHazards(_threads(), _children(), _descriptors())


def look_after_fork(before: ForkHazards) -> ForkHazards:
    """Find the hazards that a fork of this process would have now. Threads that a library has started since `before`,
    and that it ends at a fork, are not hazards.

    Some native libraries, for example OpenBLAS (numpy), end their threads at a fork. Both processes start them again on
    use. So if all new threads belong to native libraries, this forks a test child that ends at once. Threads that still
    run after this test fork are hazards.
    """
    found = look()
    started = found.threads.keys() - before.threads.keys()
    if started and started.isdisjoint(thread.native_id for thread in threading.enumerate()):
        _fork_once()
        for _ in range(LOOKS):
            found = look()
            if started.isdisjoint(found.threads):
                break
            time.sleep(PAUSE)
    return found


def _fork_once() -> None:
    with received_signals.blocked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of a fork in a process with threads
        if (pid := os.fork()) == 0:
            os._exit(0)
    os.waitpid(pid, 0)


def thread_count() -> int:
    """The number of threads of this process, including threads of native libraries that Python does not know."""
    return len(os.listdir(_SELF / "task"))  # noqa: PTH208 - names are wanted, not paths


def _threads() -> dict[int, str]:
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    ours = _comm(os.getpid())  # a native library's thread has this name, too, unless the library names the thread
    tasks = [int(task.name) for task in (_SELF / "task").iterdir()]
    return {task: known.get(task) or _comm(task).replace(ours, NATIVE) for task in tasks}


def _comm(task: int) -> str:
    try:
        return (_SELF / "task" / str(task) / "comm").read_text("utf-8", errors="replace").strip()
    except OSError:  # the thread has just ended
        return NATIVE


def _children() -> frozenset[int]:
    found: list[str] = []
    for task in (_SELF / "task").iterdir():
        with contextlib.suppress(OSError):
            found += (task / "children").read_text("ascii").split()
    return frozenset(map(int, found))


def _descriptors() -> dict[int, OpenDescriptor]:
    found: dict[int, OpenDescriptor] = {}
    for link in (_SELF / "fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
            target = os.readlink(link)  # noqa: PTH115 - `socket:[1]` is no path
            flags = fcntl.fcntl(int(link.name), fcntl.F_GETFL)
            found[int(link.name)] = OpenDescriptor(
                target, bool(flags & os.O_APPEND) and flags & os.O_ACCMODE == os.O_WRONLY
            )
    return found
