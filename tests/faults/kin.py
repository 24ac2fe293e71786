"""Processes that are not the test's own children: found by a mark in their environment, waited for by a pidfd."""

from __future__ import annotations

import os
import select
from contextlib import suppress

import psutil

PATIENCE = 40.0  # seconds; reached only by a test that fails


def marked(name: str, value: str) -> list[psutil.Process]:
    """Living processes with this variable in their environment."""
    return [each for each in psutil.process_iter() if _environment(each).get(name) == value]


def wait_dead(*pids: int) -> None:
    """Wait for the end of processes that are not our children; one that is gone already is fine."""
    for pid in pids:
        with suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            readable, _, _ = select.select([pidfd], [], [], PATIENCE)
            os.close(pidfd)
            assert readable, f"{pid} lives"


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}
