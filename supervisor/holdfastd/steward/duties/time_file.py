"""The time file: up to when this steward has looked, in Unix seconds, for others to read. The store decides."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty

EVERY = 1.0  # seconds
AFTER_TROUBLE = 30.0  # seconds: a full disk is not to fill the log as well

_log = structlog.get_logger("holdfast.steward")


def time_file(store: StewardStore, path: Path) -> Duty:
    """A reader sees a whole number, always."""

    async def turn() -> float:
        now = await store.clock_ms()
        try:
            write(path, f"{now // 1000}")
        except OSError as error:
            _log.warning("the time file cannot be written", file=str(path), error=error.strerror)
            return AFTER_TROUBLE
        return EVERY

    return Duty("time file", turn)


def write(path: Path, text: str) -> None:
    """The folder may be one that anybody writes in: a file or a link of theirs is not written to."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    beside.replace(path)
