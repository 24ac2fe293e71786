"""The messages of a task with the answers of its handler, turn by turn. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import envelope
from holdfast.core.envelope import Run, UnreadableError
from holdfast.core.messages import Part
from holdfast.core.result_document import read_result
from holdfastd.web.views.task_call import LARGEST


@dataclass(frozen=True, slots=True)
class MessageExchange:
    """One turn: the parts of its message and of its answer, each a text or a JSON value."""

    asked: list[Any]
    answered: list[Any]


def exchanges(items: Sequence[bytes]) -> list[MessageExchange]:
    """`items`: operation and result of each turn in turn, as the store has them."""
    return [exchange(operation, result) for operation, result in zip(items[::2], items[1::2], strict=False)]


def exchange(operation: bytes | None, result: bytes | None) -> MessageExchange:
    return MessageExchange(_asked(operation), [_content(part) for part in read_result(result or None).parts])


def _asked(operation: bytes | None) -> list[Any]:
    try:
        run = envelope.read(operation or b"", LARGEST)
    except UnreadableError:
        return [(operation or b"").decode("utf-8", "backslashreplace")] if operation else []
    messages = run.messages if isinstance(run, Run) else []
    return [_content(part) for message in messages for part in message["parts"]]


def _content(part: Part) -> Any:
    """The text or the data of a part; of any other kind the part."""
    for name in ("text", "data"):
        if name in part:
            return part[name]
    return part
