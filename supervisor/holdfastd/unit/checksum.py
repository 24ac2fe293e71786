"""A checksum in the first line tells a file that we wrote from one that somebody has changed since."""

from __future__ import annotations

import hashlib
import re

_FIRST = re.compile(r"# Written by `supervisor service`, checksum ([0-9a-f]{12})\b.*\n")


def sealed(body: str) -> str:
    """The text with its seal on top."""
    return (
        f"# Written by `supervisor service`, checksum {_checksum(body)}: "
        "replaced when it is installed again, unless it was changed.\n" + body
    )


def is_intact(text: str) -> bool:
    """Whether this is what we wrote, of whatever version."""
    first = _FIRST.match(text)
    return first is not None and first[1] == _checksum(text[first.end() :])


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
