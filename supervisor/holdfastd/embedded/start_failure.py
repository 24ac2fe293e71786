"""What a store that could not start has said of it, in its own log."""

from __future__ import annotations

import re
from pathlib import Path

TAIL = 1 << 14  # bytes of the log's end

_SERIOUS = re.compile(r"(?P<pid>\d+):\w .{,40}? # (?P<words>.+)")
_EMPTY = ("oO0OoO0OoO0Oo", "WARNING")  # said at every start, and advice
_FAREWELL = "bye bye..."  # of one that was told to end: it did start


def complaint(log: Path, pid: int) -> str:
    """The last serious line that this process has written, with where to read more; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    matches = (_SERIOUS.fullmatch(line) for line in reversed(lines))
    said = (match["words"] for match in matches if match is not None and int(match["pid"]) == pid)
    words = next((words for words in said if not words.startswith(_EMPTY)), "")
    if not words or words.endswith(_FAREWELL):
        return ""
    return f"the embedded store cannot start: {words.strip()}; see {log}"
