"""The rule for names of applications, schedules and jobs."""

from __future__ import annotations

from typing import TypeGuard

_LONGEST = 200  # bytes of UTF-8
RULE = f"1 to {_LONGEST} bytes of printable text"


def is_name(value: object) -> TypeGuard[str]:
    """True for text without control characters and lone surrogates that is neither empty nor too long."""
    return isinstance(value, str) and value.isprintable() and 1 <= len(value.encode()) <= _LONGEST
