"""LogRelay passes the parent's log on to the steward, which sends it to the collector: the parent has no threads.

Records wait here while no steward lives or it does not read. Only the newest are kept.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

from holdfast.ipc.channel import Logged, encode
from holdfastd.core.slots import STEWARD
from holdfastd.parent.children import Children

MOST_WAITING = 256  # records
LONGEST_TEXT = 8192  # characters of one field
_EXACT = 1 << 53  # numbers beyond it are not the same in every JSON


class LogRelay:
    def __init__(self, children: Children) -> None:
        self._children = children
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)

    def take(self, event: Mapping[str, Any]) -> None:
        """Keep a record as it is written to standard error; returns at once."""
        self._waiting.append(encode(Logged({_text(name): _plain(value) for name, value in event.items()})))

    def pass_on(self) -> None:
        """Send what waits, as far as the steward reads it now."""
        steward = self._children.of_slot(STEWARD)
        while steward is not None and self._waiting and not steward.lines.is_pending:
            steward.lines.send(self._waiting.popleft())


def _plain(value: object) -> str | bool | int | float:
    match value:
        case bool() | float() if math.isfinite(value):
            return value
        case int() if abs(value) < _EXACT:
            return value
        case str():
            return _text(value)
        case _:
            return _text(repr(value))


def _text(text: str) -> str:
    """Text that JSON can hold, not too long."""
    return text[:LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()
