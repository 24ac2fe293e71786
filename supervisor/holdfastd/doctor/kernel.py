"""The kernel and the Python that a supervisor would run on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfastd.doctor.finding import Check, Finding

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)
NEVER_KILLED = -1000  # oom_score_adj, see proc(5)
ALWAYS = 1  # vm.overcommit_memory, see proc(5)

_KERNEL = Check("kernel", "release and calls")
_MEMORY = Check("kernel", "memory")
_PYTHON = Check("python", "version")


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """`system` and `release` as uname tells them; whether the calls that we make would work; our `oom_score_adj`."""

    system: str
    release: str
    pidfd: bool
    parents_death: bool
    subreaper: bool
    oom_score_adj: int | None


@dataclass(frozen=True, slots=True)
class PythonInfo:
    """`libraries`: name and version of those that matter, None where one is missing."""

    version: tuple[int, int, int]
    libraries: dict[str, str | None]


def judge(kernel: KernelInfo) -> Iterator[Finding]:
    if kernel.system != "Linux":
        yield _KERNEL.problem(f"{kernel.system} {kernel.release}", "run the supervisor on Linux")
        return
    missing = [
        (kernel.pidfd, "pidfd_open: deaths are learned of from SIGCHLD alone", "use Linux 5.3 or later"),
        (kernel.parents_death, "PR_SET_PDEATHSIG: children see the end of their parent a little later", _FILTER),
        (kernel.subreaper, "PR_SET_CHILD_SUBREAPER: what a dead worker left behind may live on", _FILTER),
    ]
    for works, found, fix in missing:
        if not works:
            yield _KERNEL.warning(f"Linux {kernel.release} has no {found}", fix)
    if all(works for works, _, _ in missing):
        yield _KERNEL.ok(f"Linux {kernel.release}; pidfd_open, PR_SET_PDEATHSIG and subreapers work")
    yield from _judge_oom(kernel.oom_score_adj)


_FILTER = "allow prctl in the container's seccomp profile"


def _judge_oom(adjusted: int | None) -> Iterator[Finding]:
    if adjusted == NEVER_KILLED:
        found = "oom_score_adj -1000: workers inherit it, and one that leaks is never killed for its memory"
        yield _MEMORY.warning(found, "set OOMScoreAdjust=0 in the unit, or echo 0 > /proc/self/oom_score_adj before")
    elif adjusted:
        when = "earlier" if adjusted > 0 else "later"
        yield _MEMORY.note(f"oom_score_adj {adjusted}: killed for memory {when} than other processes")
    elif adjusted == 0:
        yield _MEMORY.ok("oom_score_adj 0")


def judge_overcommit(setting: int | None) -> Iterator[Finding]:
    """vm.overcommit_memory, which matters to an embedded store: it forks to rewrite its AOF."""
    if setting not in (None, ALWAYS):
        found = (
            f"vm.overcommit_memory {setting}: an embedded store that is larger than the free memory "
            "cannot fork to rewrite its AOF"
        )
        yield _MEMORY.note(found, "sysctl vm.overcommit_memory=1, and the same in /etc/sysctl.d")


def judge_python(python: PythonInfo) -> Iterator[Finding]:
    told = ".".join(map(str, python.version))
    if python.version[:2] < OLDEST_PYTHON:
        yield _PYTHON.problem(f"Python {told}", "use Python 3.11 to 3.13")
    elif python.version[:2] > NEWEST_PYTHON:
        yield _PYTHON.warning(f"Python {told} is newer than what is tested", "use Python 3.11 to 3.13")
    else:
        yield _PYTHON.ok(f"Python {told}")
    look = Check("python", "libraries")
    for name, version in python.libraries.items():
        if version is None:
            yield look.problem(f"{name} is not installed", f"pip install --force-reinstall {name}")
    yield look.ok(", ".join(f"{name} {version}" for name, version in python.libraries.items() if version))
