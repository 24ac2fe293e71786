"""Exceptions of the user's code as stored with a task: bounded, without secrets and the frames of this library."""

from __future__ import annotations

import importlib
import os
import traceback
from pathlib import Path
from typing import cast

from holdfast.core.outcomes import Completed, Failure, Raised, Rejected
from holdfast.core.result_document import NOTHING, failure_document
from holdfast.errors import Reject, Retry, StopSchedule, UnsetSchedule
from holdfast_config.secret_texts import mask

TRACEBACK_BYTES = 8192
MESSAGE_BYTES = 1024
DEEPEST_FRAMES = 100

_OURS = str(Path(__file__).parents[1]) + os.sep
_CUT = "\n…\n"


def outcome_of_error(error: BaseException) -> Raised | Rejected | Completed:
    """The outcome of a handler that raised `error`."""
    match error:
        case Retry():
            after = error.after if isinstance(error.after, int | float) else None  # pyright: ignore[reportUnnecessaryIsInstance]  # handlers need not be typed
            return Raised(Failure("Retry", _message(error)), retry_after=after)
        case StopSchedule():
            return Completed(NOTHING, "stop-schedule")
        case UnsetSchedule():
            return Completed(NOTHING, "unset-schedule")
        case Reject():
            failure = Failure("Reject", _message(error))
            return Rejected(failure_document("rejected", failure), failure.message)
        case _:
            return Raised(Failure(_type_name(error), _message(error), user_traceback(error)))


def summary(error: BaseException) -> str:
    """The error on one line: its type, and its text if it has one. Of a group, the first that failed."""
    match error:
        case BaseExceptionGroup(exceptions=(first, *_)):
            return summary(cast("BaseException", first))
        case _:
            text = " ".join(_message(error).split())
            return f"{_type_name(error)}: {text}" if text else _type_name(error)


def user_traceback(error: BaseException) -> str:
    """The traceback with the user's frames alone, at most TRACEBACK_BYTES of UTF-8; the middle is cut out."""
    summary = traceback.TracebackException.from_exception(error, limit=-DEEPEST_FRAMES)
    _drop_our_frames(summary, set())
    text = _clean(mask("".join(summary.format())))
    head, tail = TRACEBACK_BYTES // 4, TRACEBACK_BYTES * 3 // 4 - len(_CUT.encode())
    raw = text.encode()
    if len(raw) <= TRACEBACK_BYTES:
        return text
    return raw[:head].decode(errors="ignore") + _CUT + raw[-tail:].decode(errors="ignore")


def bounded(text: str, most: int) -> str:
    """`text` as valid UTF-8 of at most `most` bytes."""
    return _clean(text[:most]).encode()[:most].decode(errors="ignore")


def _drop_our_frames(summary: traceback.TracebackException | None, seen: set[int]) -> None:
    if summary is None or id(summary) in seen:
        return
    seen.add(id(summary))
    users = [frame for frame in summary.stack if not _is_machinery(frame.filename)]
    summary.stack[:] = users
    for other in (summary.__cause__, summary.__context__, *(getattr(summary, "exceptions", None) or ())):
        _drop_our_frames(other, seen)


def _is_machinery(filename: str) -> bool:
    return filename.startswith((_OURS, "<frozen importlib")) or filename == importlib.__file__


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return bounded(mask(str(error)[: 2 * MESSAGE_BYTES]), MESSAGE_BYTES)
    except Exception:
        return "(its text cannot be made)"


def _clean(text: str) -> str:
    """Lone surrogates have no UTF-8, and so no place in a document."""
    return text.encode(errors="backslashreplace").decode()
