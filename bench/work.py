"""The tasks of the benches, the same bytes for everybody: a number, when it was sent, padding to a usual size."""

from __future__ import annotations

from holdfast.client.task_spec import TaskSpec
from holdfast.core.envelope import build_parts, build_run, encode_message

ENVELOPE_BYTES = 348
_ID = "00000000-0000-4000-8000-{:012d}"


def _text(number: int, sent_ns: int, length: int) -> str:
    return f"{number}:{sent_ns}:".ljust(length, "x")


def _envelope(number: int, sent_ns: int, length: int) -> bytes:
    return build_run(_ID.format(number), encode_message(build_parts(_text(number, sent_ns, length)))).operation


_SHORTEST = 40  # bytes that a number and a time fit into
_LENGTH = _SHORTEST + max(0, ENVELOPE_BYTES - len(_envelope(0, 0, _SHORTEST)))


def envelope(number: int, sent_ns: int = 0) -> bytes:
    """The task as it stands in the queue."""
    return _envelope(number, sent_ns, _LENGTH)


def spec(number: int, sent_ns: int = 0) -> TaskSpec:
    """The task as a producer submits it."""
    return TaskSpec(text=text(number, sent_ns), task_id=task_id(number))


def text(number: int, sent_ns: int = 0) -> str:
    return _text(number, sent_ns, _LENGTH)


def task_id(number: int) -> str:
    return _ID.format(number)


def read(text: str) -> tuple[int, int]:
    """The number, and when the task was sent."""
    number, sent_ns, _ = text.split(":", 2)
    return int(number), int(sent_ns)
