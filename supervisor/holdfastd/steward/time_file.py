"""The time file: up to when this steward has looked, in Unix seconds, for others to read. The store decides."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from holdfast.broker.port import StewardStore
from holdfastd.steward.duty import Duty

EVERY = 1.0  # seconds
AFTER_TROUBLE = 30.0  # seconds: a full disk is not to fill the log as well

_log = structlog.get_logger("holdfast.steward")


def time_file(store: StewardStore, path: Path) -> Duty:
    """A reader sees a whole number, always."""

    async def turn() -> float:
        now = await store.clock_ms()
        try:
            _write(path, f"{now // 1000}")
        except OSError as error:
            _log.warning("the time file cannot be written", file=str(path), error=error.strerror)
            return AFTER_TROUBLE
        return EVERY

    return Duty("time file", turn)


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text, "ascii")
    beside.replace(path)
