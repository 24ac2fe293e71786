"""Runs one supervisor in a runtime folder: it takes the lock, handles unexpected errors, and returns the exit
status."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import traceback

from holdfast.exits import Exit
from holdfast.os import locks
from holdfast_config import service_folders
from holdfast_config.standard_error import STREAM
from holdfastd.control.listening_socket import ListenError
from holdfastd.core.commands import Announce
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.parent import prctl, start_checks
from holdfastd.parent.fork import LINUX, Kernel
from holdfastd.parent.parent import Parent
from holdfastd.parent.service_spec import ServiceSpec


def supervise(spec: ServiceSpec, announce: Announce, kernel: Kernel = LINUX) -> int:
    """Supervise this service, as the only supervisor of its runtime folder; the exit status."""
    announce = _without_errors(announce)
    try:
        lock = locks.hold(spec.runtime_dir / service_folders.SUPERVISOR_LOCK)
    except OSError as error:
        announce(f"cannot lock {error.filename}: {error.strerror}: choose another --runtime-dir", "error")
        return start_checks.folder_status(error)
    if lock is None:
        announce(f"a supervisor runs already in {spec.runtime_dir}: stop it, or choose another --runtime-dir", "error")
        return Exit.RUNNING
    try:
        return _guarded(spec, announce, kernel)
    finally:
        os.close(lock)


def _guarded(spec: ServiceSpec, announce: Announce, kernel: Kernel) -> int:
    # Inherited by every fork: a child that crashes or is aborted shows its stacks.
    faulthandler.enable(STREAM.descriptor())
    prctl.become_subreaper()
    try:
        with spec.metrics.opened(announce), spec.dashboard.opened(announce):
            return Parent(spec, announce, kernel).run()
    except (StoreLaunchError, ListenError) as error:
        announce(str(error), "error")
        return error.code
    except Exception:  # the outermost frame: all children are dead by now, and the bug is printed
        announce(traceback.format_exc(), "error")
        return Exit.BUG


def _without_errors(announce: Announce) -> Announce:
    """The same function, which ignores that the terminal is gone: that is no reason to end."""

    def announce_if_possible(text: str, level: str = "info") -> None:
        with contextlib.suppress(OSError):
            announce(text, level)

    return announce_if_possible
