"""Seeing the kernel and the Python that run this command."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from holdfastd.doctor.kernel import KernelInfo, PythonInfo
from holdfastd.parent import prctl

LIBRARIES = ("anyio", "uvloop", "redis", "hiredis", "msgspec")
_OOM = Path("/proc/self/oom_score_adj")
_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")


def kernel() -> KernelInfo:
    told = os.uname()
    return KernelInfo(
        system=told.sysname,
        release=told.release,
        pidfd=_has_pidfd(),
        parents_death=prctl.knows_parents_death(),
        subreaper=prctl.knows_subreapers(),
        oom_score_adj=_number(_OOM),
    )


def python() -> PythonInfo:
    return PythonInfo(sys.version_info[:3], {name: _version(name) for name in LIBRARIES})


def overcommit() -> int | None:
    """The setting vm.overcommit_memory."""
    return _number(_OVERCOMMIT)


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


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
