"""Runs a command, and ends with it every process that came of it, in whatever session or group.

`python -m tests.mutation.alone COMMAND…` ends with the command's exit status. Processes whose parents die become its
children, so that it finds all of them; SIGTERM ends it and them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress

import psutil

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)


def main(command: list[str]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return _exit_status(subprocess.Popen(command).pid)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_all()


def _exit_status(wanted: int) -> int:
    """Of the command; orphans that end meanwhile are reaped, too."""
    while True:
        pid, status = os.wait()
        if pid == wanted:
            return os.waitstatus_to_exitcode(status)


def _end_all() -> None:
    """Again and again, as a process may fork while it is found."""
    while True:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.exit(code if code >= 0 else 128 - code)
