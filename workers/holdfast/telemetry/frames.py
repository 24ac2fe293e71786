"""The frames of a traceback: file, line and function. Messages of errors and lines of source are left out, for they may
hold anything; `supervisor tasks show` has them."""

from __future__ import annotations

import re

_FRAME = re.compile(r'^[ |]*File "[^"\n]+", line [0-9]+, in [^\n]+$', re.MULTILINE)


def frames(traceback: str) -> str:
    """One frame a line, the innermost last; of chained errors all frames."""
    return "\n".join(match.lstrip(" |") for match in _FRAME.findall(traceback))
