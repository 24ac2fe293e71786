"""Maps a command's exit status to the outcome of its task. The numbers are those of sysexits(3)."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.core.outcomes import Failure, Outcome, Raised, Rejected
from holdfast.core.result_document import failure_document
from holdfast.handler.failures import MESSAGE_BYTES, bounded
from holdfast.handler.returned_value import outcome_of

TRY_AGAIN = 75
NEVER: Mapping[int, str] = {
    64: "usage error",
    65: "bad data",
    66: "no input",
    77: "no permission",
    78: "bad configuration",
}

_decode = msgspec.json.Decoder().decode


def outcome(status: int, output: bytes, last_line: str, tail: str, max_bytes: int) -> Outcome:
    """The outcome of a command that ended with `status` (a signal's number if below 0).

    `last_line` and `tail` of its standard error explain it.
    """
    because = f": {last_line}" if last_line else ""
    match status:
        case 0:
            return outcome_of(value_of(output), max_bytes)
        case _ if status == TRY_AGAIN:
            return Raised(_failure("Retry", f"the command asked for a retry{because}", tail))
        case _ if status in NEVER:
            failure = _failure("Reject", last_line or f"exit status {status}, {NEVER[status]}", tail)
            return Rejected(failure_document("rejected", failure), failure.message)
        case _ if status < 0:
            return Raised(_failure("Signal", f"the command was ended by {_signal(-status)}{because}", tail))
        case _:
            return Raised(_failure("ExitStatus", f"exit status {status}{because}", tail))


def value_of(output: bytes) -> Any:
    """The output as a Python handler would have returned it: JSON if all of it is JSON, else text; None if empty."""
    try:
        return _decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return output.decode(errors="replace").rstrip("\r\n") or None


def _failure(kind: str, message: str, tail: str) -> Failure:
    return Failure(kind, bounded(message, MESSAGE_BYTES), tail)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
