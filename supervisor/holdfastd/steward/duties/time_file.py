"""Writes the time up to which this steward has checked the store, in Unix seconds of the store, to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from holdfastd.steward.duty import Duty

if TYPE_CHECKING:
    from holdfast.store import Store

EVERY = 1.0  # seconds
AFTER_TROUBLE = 30.0  # seconds: a full disk must not fill the log, too

_log = structlog.get_logger("holdfast.steward")


def time_file(store: Store, path: Path) -> Duty:
    """Readers always see a whole number."""

    async def run_once() -> float:
        now = await store.clock_ms()
        try:
            write(path, f"{now // 1000}")
        except OSError as error:
            _log.warning("the time file cannot be written", file=str(path), error=error.strerror)
            return AFTER_TROUBLE
        return EVERY

    return Duty("time file", run_once)


def write(path: Path, text: str) -> None:
    """Replace the file. Others may write in this folder: their file or link is never written to."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    beside.replace(path)
