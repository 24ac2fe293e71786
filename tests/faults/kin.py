"""Processes that are not children of the test: found by environment or standard error, waited for by a pidfd."""

from __future__ import annotations

import os
import select
from contextlib import suppress

import psutil

PATIENCE = 40.0  # seconds; reached only by a test that fails


def marked(name: str, value: str) -> list[psutil.Process]:
    """Living processes with this variable in their environment."""
    return [each for each in psutil.process_iter() if _environment(each).get(name) == value]


def writing_to(pipe: str) -> list[psutil.Process]:
    """Living processes whose standard error is this pipe: `pipe:[…]`."""
    return [each for each in psutil.process_iter() if _standard_error(each) == pipe]


def wait_dead(*pids: int) -> None:
    """Wait for the end of processes that are not our children; one that is gone already is fine."""
    for pid in pids:
        with suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            readable, _, _ = select.select([pidfd], [], [], PATIENCE)
            os.close(pidfd)
            assert readable, f"{pid} lives"


def _standard_error(process: psutil.Process) -> str:
    try:
        return os.readlink(f"/proc/{process.pid}/fd/2")  # noqa: PTH115 - `pipe:[1]` is no path
    except OSError:
        return ""


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}
