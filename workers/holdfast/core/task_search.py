"""The search for tasks by a text: which tasks match, and a quick test that lets the store skip most others."""

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
    """Shows the whole value; nothing is hidden."""
    return value


@dataclass(frozen=True, slots=True)
class TextSearch:
    """Case does not matter. A task matches if the text is in its id, its handler's name, its reason, or in the
    arguments, result or error of its latest turn. These are searched text by text, and in their JSON spelling. `shown`
    first removes from a JSON value what the reader may not see."""

    text: str
    shown: Callable[[Any], Any] = as_it_is
    _wanted: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        lower = self.text.lower()
        object.__setattr__(self, "_wanted", tuple({lower, _encode(lower).decode()[1:-1]}))

    @property
    def probe(self) -> str:
        """A lower-case ASCII text that is in the bytes of every matching task: the store skips tasks without it."""
        return max(_PLAIN.findall(self.text), key=len, default="").lower()

    def fits(self, task: TaskRecord) -> bool:
        """True if the task matches. It was read with its operation and result, or with the beginning of them."""
        return any(wanted in text.lower() for text in self._texts(task) for wanted in self._wanted)

    def _texts(self, task: TaskRecord) -> Iterator[str]:
        yield from map(self.shown, (task.task_id, task.name, task.reason))
        if task.operation:
            yield from self._in_operation(task.operation)
        if task.result:
            yield from self._in_result(task.result)

    def _in_operation(self, document: bytes) -> Iterator[str]:
        """Searches the arguments; in an unreadable document, for example a cut one, all of it."""
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
    """The arguments of a named handler without its name, because the name is searched separately."""
    return data["kwargs"] if data.keys() == {"name", "kwargs"} else data
