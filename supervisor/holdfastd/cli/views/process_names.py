"""A supervisor's processes, as the command line names them."""

from __future__ import annotations

CLAIMING = frozenset({"worker", "quarantine"})  # there may be several of them, so they have numbers


def name(kind: str, slot: int) -> str:
    return f"{kind} {slot}" if kind in CLAIMING else kind
