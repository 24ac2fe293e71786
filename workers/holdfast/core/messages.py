"""Brings messages into the form that handlers get, whatever form a producer used: plain A2A dicts with `parts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Message = dict[str, Any]
Part = dict[str, Any]


class MessageShapeError(ValueError):
    """A message in a form that Holdfast cannot give to a handler; the text is the reason."""


def text_part(text: str) -> Part:
    return {"kind": "text", "text": text}


def data_part(data: object) -> Part:
    return {"kind": "data", "data": data}


def call_part(name: str, kwargs: Mapping[str, object]) -> Part:
    """The data part that calls the handler `name` with these arguments."""
    return data_part({"name": name, "kwargs": kwargs})


def with_parts(message: Message) -> Message:
    """The message with readable `parts`: its own parts, or one part made from its `content`. Raises
    MessageShapeError."""
    parts = message.get("parts")
    if parts is None:
        message["parts"] = _parts_of(message.get("content"))
    elif not _are_objects(parts):
        raise MessageShapeError("the parts of a message are not a list of objects")
    return message


def _are_objects(parts: Any) -> bool:
    if not isinstance(parts, list):
        return False
    for part in parts:  # pyright: ignore[reportUnknownVariableType]  # noqa: SIM110 - faster, and done for every task
        if not isinstance(part, dict):
            return False
    return True


def with_content(message: Message) -> Message:
    """The message with `content`. If the message has none, `content` is made of its text parts. A worker calls this for
    handlers that take messages."""
    if "content" not in message:
        message["content"] = text_of(message["parts"])
    return message


def text_of(parts: Sequence[Part]) -> str:
    """The text parts, each on lines of its own."""
    return "\n".join([part["text"] for part in parts if isinstance(part.get("text"), str)])


def call_of(messages: Iterable[Message]) -> tuple[str | None, dict[str, Any]]:
    """The name and arguments of the handler that the messages call, or None and no arguments."""
    for message in messages:
        for part in message["parts"]:
            data: dict[str, Any] | None = part.get("data") if part.get("kind") == "data" else None
            if isinstance(data, dict) and isinstance(data.get("name"), str) and isinstance(data.get("kwargs"), dict):
                return data["name"], data["kwargs"]
    return None, {}


def _parts_of(content: object) -> list[Part]:
    if content is None:
        return []
    return [text_part(content) if isinstance(content, str) else data_part(content)]
