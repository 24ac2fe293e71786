"""One supervisor a runtime directory, and what surrounds its life: the lock, the last resort, the exit status."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import traceback
from collections.abc import Callable

from holdfast.exits import Exit
from holdfast.os import locks
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.parent import make_folders, prctl
from holdfastd.parent.fork import LINUX, Kernel
from holdfastd.parent.parent import Parent
from holdfastd.parent.service_spec import ServiceSpec

STDERR = 2

Announce = Callable[[str], None]


def supervise(home: ServiceSpec, announce: Announce, kernel: Kernel = LINUX) -> int:
    """Look after this household, alone in its runtime directory."""
    announce = _quietly(announce)
    try:
        lock = locks.hold(home.runtime_dir / make_folders.LOCK)
    except OSError as error:
        announce(f"cannot lock {error.filename}: {error.strerror}: choose another --runtime-dir")
        return make_folders.status(error)
    if lock is None:
        announce(f"a supervisor runs already in {home.runtime_dir}: stop it, or choose another --runtime-dir")
        return Exit.RUNNING
    try:
        return _guarded(home, announce, kernel)
    finally:
        os.close(lock)


def _guarded(home: ServiceSpec, announce: Announce, kernel: Kernel) -> int:
    faulthandler.enable(STDERR)  # inherited by every fork: a child that crashes or is aborted shows its stacks
    prctl.become_subreaper()
    try:
        return Parent(home, announce, kernel).run()
    except StoreLaunchError as error:
        announce(str(error))
        return error.code
    except Exception:  # the border of the process: children are dead by now, the bug is shown
        announce(traceback.format_exc())
        return Exit.BUG


def _quietly(announce: Announce) -> Announce:
    """A terminal that has gone away is no reason to end."""

    def told(line: str) -> None:
        with contextlib.suppress(OSError):
            announce(line)

    return told
