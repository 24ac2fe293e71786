"""Names of a supervisor's processes on the command line."""

from __future__ import annotations

CLAIMING = frozenset({"worker", "quarantine"})  # there may be several, so they are numbered


def name(kind: str, slot: int) -> str:
    return f"{kind} {slot}" if kind in CLAIMING else kind
