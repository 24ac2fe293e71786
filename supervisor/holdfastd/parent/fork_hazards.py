"""Lists the threads, children and open descriptors of this process, which do not survive a fork or would be shared."""

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

LOOKS = 40  # for threads that have ended, which the kernel may list a little longer
PAUSE = 0.005  # seconds between two looks

_SELF = Path("/proc/self")


NULL = "/dev/null"
NATIVE = "of a native library"


@dataclass(frozen=True, slots=True)
class OpenDescriptor:
    """`target`: a path, or a text such as `socket:[1]`. `appends`: it can only be written to, always at the end of the
    file."""

    target: str
    appends: bool = False

    @property
    def is_file(self) -> bool:
        """True for a path; `socket:[1]`, `pipe:[1]` and `anon_inode:…` are no paths."""
        return self.target.startswith("/")

    @property
    def is_shareable(self) -> bool:
        """True if several processes can use it without disturbing one another."""
        return self.target == NULL or (self.is_file and self.appends)


@dataclass(frozen=True, slots=True)
class ForkHazards:
    """`threads`: names by kernel id, `children`: pids, `descriptors`: what each is open on."""

    threads: Mapping[int, str]
    children: frozenset[int]
    descriptors: Mapping[int, OpenDescriptor]


def look() -> ForkHazards:
    """The hazards that exist now."""
    return ForkHazards(_threads(), _children(), _descriptors())


def look_after_fork(before: ForkHazards) -> ForkHazards:
    """The hazards that an import has left since `before`, as they are once this process has forked.

    Some libraries, for example OpenBLAS (numpy), end their threads at a fork and start them again on use, in both
    processes. If all new threads belong to libraries, a test child is forked that ends at once. Threads that still run
    after this do not expect a fork.
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
        warnings.simplefilter("ignore")  # of threads beside a fork
        if (pid := os.fork()) == 0:
            os._exit(0)
    os.waitpid(pid, 0)


def thread_count() -> int:
    """The number of threads of this process, including those that Python does not know."""
    return len(os.listdir(_SELF / "task"))  # noqa: PTH208 - names are wanted, not paths


def _threads() -> dict[int, str]:
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    ours = _comm(os.getpid())  # a thread of a native library has this name, too, unless it is given another
    tasks = [int(task.name) for task in (_SELF / "task").iterdir()]
    return {task: known.get(task) or _comm(task).replace(ours, NATIVE) for task in tasks}


def _comm(task: int) -> str:
    try:
        return (_SELF / "task" / str(task) / "comm").read_text("utf-8", errors="replace").strip()
    except OSError:  # it has just ended
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
