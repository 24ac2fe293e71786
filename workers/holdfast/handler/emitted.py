"""The parts of an answer that a handler emits while it runs."""

from __future__ import annotations

from typing import Protocol

from holdfast.core.delivery import LONGEST_PART
from holdfast.errors import WouldBlockError
from holdfast.handler.returned_value import NotJsonError, to_json
from holdfast.os.loop_threads import is_thread_of_loop


class PartLog(Protocol):
    """Sends the parts of one delivery to everybody who follows the task."""

    async def emit(self, value: bytes) -> None:
        """Send one part, as JSON. After the end of the delivery it is dropped."""
        ...

    async def end(self) -> None:
        """Wait until the last parts are sent, as far as the store takes them."""
        ...


class UnkeptParts:
    """A log for a handler that is called without a worker, for example in a test: it keeps no parts."""

    async def emit(self, value: bytes) -> None:
        """Do nothing."""

    async def end(self) -> None:
        """Do nothing."""


def part_to_json(value: object) -> bytes:
    """Raises NotJsonError."""
    encoded = to_json(value)
    if len(encoded) > LONGEST_PART:
        raise NotJsonError(
            f"a part of {len(encoded)} bytes: at most {LONGEST_PART} are kept of each; emit it in smaller parts, or "
            "return it as the result"
        )
    return encoded


def require_handler_thread() -> None:
    """Raises WouldBlockError in a coroutine, whose event loop could not take the part."""
    if not is_thread_of_loop():
        raise WouldBlockError(
            "task.emit_sync works only in the thread of a handler that is a plain function; a coroutine awaits "
            "task.emit(…)"
        )
