"""The search for tasks by a text: which tasks fit, and what a store can sort out before it hands them over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from holdfast.core.messages import Part
from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.core.result_document import Result
from holdfast.core.tasks import TaskRecord

LONGEST_TEXT = 200  # characters that may be searched for
MOST_BYTES = 65_536  # of an operation, and of a result, that are searched: their beginning

_PLAIN = re.compile(r"[A-Za-z0-9 _.@-]+")  # no encoder of JSON writes these in another way

_encode = msgspec.json.Encoder().encode


class _Message(msgspec.Struct):
    parts: list[Part] = []
    metadata: object = None


class _Params(msgspec.Struct):
    message: _Message | None = None


class _Operation(msgspec.Struct):
    params: _Params


_read_operation = msgspec.json.Decoder(_Operation).decode
_read_result = msgspec.json.Decoder(Result).decode


def as_it_is(value: Any) -> Any:
    """All of a value may be seen."""
    return value


@dataclass(frozen=True, slots=True)
class TextSearch:
    """Upper and lower case do not matter. A task fits if the text is in its id, its handler's name, its reason, or in
    the arguments, the result or the error of its latest turn: as one of their texts, or as they are spelled in JSON.
    `shown`: a value of JSON without what the reader may not see, which is not searched."""

    text: str
    shown: Callable[[Any], Any] = as_it_is
    _wanted: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        lower = self.text.lower()
        object.__setattr__(self, "_wanted", tuple({lower, _encode(lower).decode()[1:-1]}))

    @property
    def probe(self) -> str:
        """ASCII in lower case that stands in the bytes of every task that fits: a store needs no others."""
        return max(_PLAIN.findall(self.text), key=len, default="").lower()

    def fits(self, task: TaskRecord) -> bool:
        """True for a task that was read with its operation and result, or with the beginning of them."""
        return any(wanted in text.lower() for text in self._texts(task) for wanted in self._wanted)

    def _texts(self, task: TaskRecord) -> Iterator[str]:
        yield from map(self.shown, (task.task_id, task.name, task.reason))
        if task.operation:
            yield from self._in_operation(task.operation)
        if task.result:
            yield from self._in_result(task.result)

    def _in_operation(self, document: bytes) -> Iterator[str]:
        """The arguments; all of a document that cannot be read, as of one that was cut."""
        try:
            message = _read_operation(document).params.message
        except UNREADABLE_JSON:
            yield self._as_text(document)
            return
        if message is not None:
            yield from self._in_parts(message.parts)
            yield self._spelled(message.metadata)

    def _in_result(self, document: bytes) -> Iterator[str]:
        try:
            result = _read_result(document)
        except UNREADABLE_JSON:
            yield self._as_text(document)
            return
        yield from self._in_parts(result.parts)
        yield from (str(value) for value in self.shown(result.error or {}).values())

    def _in_parts(self, parts: list[Part]) -> Iterator[str]:
        for part in parts:
            text, data = part.get("text"), part.get("data")
            if isinstance(text, str):
                yield self.shown(text)
            else:
                yield self._spelled(_arguments(cast("dict[str, Any]", data)) if isinstance(data, dict) else data)

    def _as_text(self, document: bytes) -> str:
        text = self.shown(document.decode("utf-8", "replace"))
        assert isinstance(text, str)
        return text

    def _spelled(self, value: object) -> str:
        return "" if value in (None, {}) else _encode(self.shown(value)).decode()


def _arguments(data: dict[str, Any]) -> object:
    """Those of a named handler without its name, which is searched by itself."""
    return data["kwargs"] if data.keys() == {"name", "kwargs"} else data
