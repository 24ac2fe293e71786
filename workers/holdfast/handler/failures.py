"""Turns exceptions of the user's code into texts for the store: bounded, without secrets and without frames of this
library.

An exception's own methods may fail, and its task still gets an outcome: guards surround each reading of its text
(`holdfast_config.error_text`).
"""

from __future__ import annotations

import importlib
import math
import os
from pathlib import Path

from holdfast.core.outcomes import NOTHING, Completed, Failure, Raised, Rejected, failure_document
from holdfast.errors import Reject, Retry, StopSchedule, UnsetSchedule
from holdfast_config.error_text import is_error, members_of, text_of, traceback_text, type_name
from holdfast_config.secret_texts import mask

TRACEBACK_BYTES = 8192
MESSAGE_BYTES = 1024

_OURS = str(Path(__file__).parents[1]) + os.sep
_CUT = "\n…\n"
_DEEPEST = 100  # exception groups inside each other that are opened


def outcome_of_error(error: BaseException) -> Raised | Rejected | Completed:
    """The outcome of a handler that raised `error`. Never raises."""
    if is_error(error, Retry):
        return Raised(Failure("Retry", message_of(error)), retry_after=_wait(error))
    if is_error(error, StopSchedule):
        return Completed(NOTHING, "stop-schedule")
    if is_error(error, UnsetSchedule):
        return Completed(NOTHING, "unset-schedule")
    if is_error(error, Reject):
        failure = Failure("Reject", message_of(error))
        return Rejected(failure_document("rejected", failure), failure.message)
    named = _exit_in(error)
    return Raised(Failure(type_name(named), message_of(named), user_traceback(error)))


def _exit_in(error: BaseException) -> BaseException:
    """The SystemExit or KeyboardInterrupt in an exception group that holds nothing else. Any other error is returned
    itself."""
    leaves = [error]
    for _ in range(_DEEPEST):
        if not any(map(members_of, leaves)):
            break
        leaves = [leaf for each in leaves for leaf in (members_of(each) or (each,))][:_DEEPEST]
    return leaves[0] if all(is_error(leaf, SystemExit, KeyboardInterrupt) for leaf in leaves) else error


def summary(error: BaseException) -> str:
    """The error on one line: its type, and its text if it has one. For a group, its first error."""
    for _ in range(_DEEPEST):
        if not (members := members_of(error)):
            break
        error = members[0]
    text = " ".join(message_of(error).split())
    return f"{type_name(error)}: {text}" if text else type_name(error)


def message_of(error: BaseException) -> str:
    """The text of the error, without secrets, at most MESSAGE_BYTES."""
    return bounded(mask(text_of(error)[: 2 * MESSAGE_BYTES]), MESSAGE_BYTES)


def user_traceback(error: BaseException) -> str:
    """The traceback with the user's frames only, at most TRACEBACK_BYTES of UTF-8; a long one is cut in the middle."""
    text = _clean(mask(traceback_text(error, lambda filename: not _is_machinery(filename))))
    head, tail = TRACEBACK_BYTES // 4, TRACEBACK_BYTES * 3 // 4 - len(_CUT.encode())
    raw = text.encode()
    if len(raw) <= TRACEBACK_BYTES:
        return text
    return raw[:head].decode(errors="ignore") + _CUT + raw[-tail:].decode(errors="ignore")


def bounded(text: str, most: int) -> str:
    """`text` as valid UTF-8 of at most `most` bytes."""
    return _clean(text[:most]).encode()[:most].decode(errors="ignore")


def _is_machinery(filename: str) -> bool:
    return filename.startswith((_OURS, "<frozen importlib")) or filename == importlib.__file__


def _wait(error: BaseException) -> float | None:
    """The seconds after which a Retry asks for the next run; None: the usual wait. A value that is no number means the
    usual wait, because Python does not check the type."""
    try:
        after = getattr(error, "after", None)
        seconds = float(after) if isinstance(after, int | float) else math.nan
    except BaseException:  # a number of the user's own type, or one that is too large
        return None
    return None if math.isnan(seconds) else seconds


def _clean(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="backslashreplace").decode()
