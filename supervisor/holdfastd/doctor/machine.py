"""Checks the machine: the kernel's system calls and rules for memory, Python and libraries, and room for workers."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from holdfast.core.words import counted
from holdfastd.core.capacity import MIB, WORKER_MEMORY, Host, refusal
from holdfastd.doctor.finding import Check, Finding
from holdfastd.parent import prctl
from holdfastd.parent.host import groups, measure, raise_descriptors

NEVER_KILLED = -1000  # oom_score_adj, see proc(5)
ALWAYS = 1  # vm.overcommit_memory, see proc(5)

_OOM_FILE = Path("/proc/self/oom_score_adj")
_OVERCOMMIT_FILE = Path("/proc/sys/vm/overcommit_memory")

_KERNEL = Check("kernel", "release and calls")
_MEMORY = Check("kernel", "memory")
_SECCOMP = "allow prctl in the container's seccomp profile"


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """The kernel. `system`, `release`: as uname reports them. `pidfd`, `parents_death`, `subreaper`: True if the
    kernel's call of this name works. `oom_score_adj`: the value of this process; None if it cannot be read."""

    system: str
    release: str
    pidfd: bool
    parents_death: bool
    subreaper: bool
    oom_score_adj: int | None


def look_at_kernel() -> KernelInfo:
    uname = os.uname()
    return KernelInfo(
        system=uname.sysname,
        release=uname.release,
        pidfd=_has_pidfd(),
        parents_death=prctl.knows_parents_death(),
        subreaper=prctl.knows_subreapers(),
        oom_score_adj=_number(_OOM_FILE),
    )


def look_overcommit() -> int | None:
    """The value of vm.overcommit_memory; None if it cannot be read."""
    return _number(_OVERCOMMIT_FILE)


def _has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError):
        return False
    return True


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None


def judge_kernel(kernel: KernelInfo) -> Iterator[Finding]:
    if kernel.system != "Linux":
        yield _KERNEL.problem(f"{kernel.system} {kernel.release}", "run the supervisor on Linux")
        return
    calls = [
        (kernel.pidfd, "pidfd_open: the end of a child is reported by SIGCHLD alone", "use Linux 5.3 or later"),
        (kernel.parents_death, "PR_SET_PDEATHSIG: children notice the end of their parent a little later", _SECCOMP),
        (kernel.subreaper, "PR_SET_CHILD_SUBREAPER: processes that a dead worker left may live on", _SECCOMP),
    ]
    for works, text, fix in calls:
        if not works:
            yield _KERNEL.warning(f"Linux {kernel.release} has no {text}", fix)
    if all(works for works, _, _ in calls):
        yield _KERNEL.ok(f"Linux {kernel.release}; pidfd_open, PR_SET_PDEATHSIG and subreapers work")
    yield from _judge_oom(kernel.oom_score_adj)


def _judge_oom(adjusted: int | None) -> Iterator[Finding]:
    if adjusted == NEVER_KILLED:
        text = "oom_score_adj -1000: workers inherit it, so a worker that leaks memory is never killed for it"
        yield _MEMORY.warning(
            text, "set OOMScoreAdjust=0 in the unit, or run echo 0 > /proc/self/oom_score_adj before the start"
        )
    elif adjusted:
        when = "earlier" if adjusted > 0 else "later"
        yield _MEMORY.note(f"oom_score_adj {adjusted}: without memory the kernel kills it {when} than other processes")
    elif adjusted == 0:
        yield _MEMORY.ok("oom_score_adj 0")


def judge_overcommit(setting: int | None) -> Iterator[Finding]:
    """Judge vm.overcommit_memory for an embedded store. The store forks to rewrite its append-only file (AOF)."""
    if setting not in (None, ALWAYS):
        text = (
            f"vm.overcommit_memory {setting}: an embedded store that is larger than the free memory "
            "cannot fork to rewrite its append-only file"
        )
        yield _MEMORY.note(text, "sysctl vm.overcommit_memory=1, and the same in /etc/sysctl.d")


# Checks the version of Python, and the libraries that matter most.

OLDEST, NEWEST = (3, 11), (3, 13)
LIBRARIES = ("anyio", "uvloop", "redis", "hiredis", "msgspec")

_VERSION = Check("python", "version")
_LIBRARIES = Check("python", "libraries")


@dataclass(frozen=True, slots=True)
class PythonInfo:
    """The version of Python, and of libraries by name. A library's version is None if the library is missing."""

    version: tuple[int, int, int]
    libraries: dict[str, str | None]


def look_at_python() -> PythonInfo:
    return PythonInfo(sys.version_info[:3], {name: _version(name) for name in LIBRARIES})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def judge_python(python: PythonInfo) -> Iterator[Finding]:
    name = f"Python {'.'.join(map(str, python.version))}"
    if python.version[:2] < OLDEST:
        yield _VERSION.problem(f"{name} is too old", "use Python 3.11 to 3.13")
    elif python.version[:2] > NEWEST:
        yield _VERSION.warning(f"{name} is newer than the versions that Holdfast is tested with", "use 3.11 to 3.13")
    else:
        yield _VERSION.ok(name)
    for library, installed in python.libraries.items():
        if installed is None:
            yield _LIBRARIES.problem(f"{library} is not installed", f"pip install --force-reinstall {library}")
    yield _LIBRARIES.ok(", ".join(f"{library} {found}" for library, found in python.libraries.items() if found))


# Checks the room for workers: open files, processes and memory. The supervisor observes the same limits.

FOR_TASKS = 4  # times the memory that idle workers need: with less, little memory is left for the handlers


@dataclass(frozen=True, slots=True)
class Need:
    """The numbers of processes and threads that the settings need. `workers`: how many workers; `living`: how many of
    them run already. `threads`: how many threads a worker may use for its handler."""

    workers: int
    living: int
    threads: int


def look_at_limits(pid: int | None) -> Host:
    """The resources that are left, by the limits of the supervisor with this pid. If `pid` is None, no supervisor runs,
    and the limits of this process count."""
    if pid is not None:
        try:
            return _room_of(pid)
        except (psutil.Error, OSError):  # the supervisor has ended, or belongs to another user
            pass
    raise_descriptors()  # as a start does
    return measure()


def _room_of(pid: int) -> Host:
    files = psutil.Process(pid).rlimit(resource.RLIMIT_NOFILE)[0]
    host = measure(groups(membership=Path(f"/proc/{pid}/cgroup")))
    return replace(host, descriptors=None if files == resource.RLIM_INFINITY else files)


def judge_limits(host: Host, need: Need) -> Iterator[Finding]:
    """Judge the room for workers. `host`: the resources that are left beside the living workers."""
    check = Check("limits", f"room for --workers {need.workers}")
    if why_not := refusal(host, need.living, need.workers):
        text, _, fix = why_not.partition("; ")
        yield check.problem(text, fix)
        return
    yield check.ok(", ".join(_left(host)) or "no limit is known")
    yield from _judge_threads(host, need)
    yield from _judge_memory(host, need)


def _judge_threads(host: Host, need: Need) -> Iterator[Finding]:
    check = Check("limits", "room for threads")
    bounds = [left for left in (host.user_processes, host.group_processes) if left is not None]
    wanted = (need.workers - need.living) + need.workers * need.threads
    if need.threads and bounds and wanted > min(bounds):
        text = f"each worker uses up to {need.threads} threads for its handler; only {min(bounds)} more can be started"
        yield check.warning(text, "raise TasksMax= or ulimit -u, or lower --concurrency")


def _judge_memory(host: Host, need: Need) -> Iterator[Finding]:
    check = Check("limits", "room for memory")
    idle = WORKER_MEMORY * (need.workers - need.living)
    if host.memory is not None and host.memory < FOR_TASKS * idle:
        text = f"{host.memory // MIB} MiB are left; idle workers alone need {idle // MIB} MiB"
        yield check.warning(text, "add memory (MemoryMax=), or run fewer workers")


def _left(host: Host) -> Iterator[str]:
    bounds = [left for left in (host.user_processes, host.group_processes) if left is not None]
    if host.descriptors is not None:
        yield f"{counted(host.descriptors, 'file')} may be open"
    if bounds:
        yield counted(min(bounds), "more process", "more processes")
    if host.memory is not None:
        yield f"{host.memory // MIB} MiB of memory left"
