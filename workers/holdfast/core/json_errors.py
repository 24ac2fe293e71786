"""The errors of reading JSON that somebody else wrote.

The decoder has three: the text is no JSON or not of the wanted type, it is not UTF-8, it is nested too deep. A reader
that catches one of them alone ends with the other two.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

UNREADABLE_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_WHOLE = 1 << 53  # JSON has larger numbers, which the encoder refuses and other languages round
_LATEST = 253_402_300_799.0  # seconds, the end of the year 9999: a later time has no date, and no wait is so long

Whole = Annotated[int, Meta(ge=-_WHOLE, le=_WHOLE)]
Real = Annotated[float, Meta(ge=-_LATEST, le=_LATEST)]
