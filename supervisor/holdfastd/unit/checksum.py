"""Marks generated files with a checksum in their first line, so that later changes by others are detected."""

from __future__ import annotations

import hashlib
import re

_FIRST = re.compile(r"# Written by `supervisor service`, checksum ([0-9a-f]{12})\b.*\n")


def sealed(body: str) -> str:
    """The text with its checksum line on top."""
    return (
        f"# Written by `supervisor service`, checksum {_checksum(body)}: "
        "replaced when it is installed again, unless it was changed.\n" + body
    )


def is_intact(text: str) -> bool:
    """True if the text is unchanged since we generated it, in whatever version."""
    first = _FIRST.match(text)
    return first is not None and first[1] == _checksum(text[first.end() :])


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
