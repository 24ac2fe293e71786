"""The kernel that the supervisor runs on: its system calls, and its rules for memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfastd.doctor.finding import Check, Finding
from holdfastd.parent import prctl

NEVER_KILLED = -1000  # oom_score_adj, see proc(5)
ALWAYS = 1  # vm.overcommit_memory, see proc(5)

_OOM_FILE = Path("/proc/self/oom_score_adj")
_OVERCOMMIT_FILE = Path("/proc/sys/vm/overcommit_memory")

_KERNEL = Check("kernel", "release and calls")
_MEMORY = Check("kernel", "memory")
_SECCOMP = "allow prctl in the container's seccomp profile"


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """`system` and `release` as uname reports them; True for each call that works here; our `oom_score_adj`."""

    system: str
    release: str
    pidfd: bool
    parents_death: bool
    subreaper: bool
    oom_score_adj: int | None


def look() -> KernelInfo:
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


def judge(kernel: KernelInfo) -> Iterator[Finding]:
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
        yield _MEMORY.note(f"oom_score_adj {adjusted}: killed for memory {when} than other processes")
    elif adjusted == 0:
        yield _MEMORY.ok("oom_score_adj 0")


def judge_overcommit(setting: int | None) -> Iterator[Finding]:
    """Judges vm.overcommit_memory for an embedded store, which forks to rewrite its append-only file (AOF)."""
    if setting not in (None, ALWAYS):
        text = (
            f"vm.overcommit_memory {setting}: an embedded store that is larger than the free memory "
            "cannot fork to rewrite its append-only file"
        )
        yield _MEMORY.note(text, "sysctl vm.overcommit_memory=1, and the same in /etc/sysctl.d")
