"""Errors of starting the embedded store."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.exits import Exit


class StoreLaunchError(HoldfastError):
    """The embedded store cannot be started; the message says what to do, `code` is what the service exits with."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


# Reads from its own log why the embedded store could not start.

TAIL = 1 << 14  # bytes of the log's end

_SERIOUS = re.compile(r"(?P<pid>\d{1,10}):\w .{,40}? # (?P<words>.+)")
_EMPTY = ("oO0OoO0OoO0Oo", "WARNING")  # logged at every start
_FAREWELL = "bye bye..."  # of a store that was asked to end: it had started


def read_start_failure(log: Path, pid: int) -> str:
    """The last error line that this process has logged, with the path of the log; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    matches = (_SERIOUS.fullmatch(line) for line in reversed(lines))
    serious = (match["words"] for match in matches if match is not None and int(match["pid"]) == pid)
    words = next((words for words in serious if not words.startswith(_EMPTY)), "")
    if not words or words.endswith(_FAREWELL):
        return ""
    return f"the embedded store cannot start: {words.strip()}; see {log}"
