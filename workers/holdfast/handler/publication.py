"""A worker publishes its handlers: the name of each and a JSON schema of its arguments, from its signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.core.plain_json import check_json
from holdfast.core.published_handlers import LONGEST_SUMMARY, MOST_HANDLERS, PublishedHandler
from holdfast.errors import InvalidTaskError
from holdfast.handler.converters import has_struct, is_converted
from holdfast.handler.function import HandlerFunction
from holdfast.handler.handler import Handler
from holdfast.handler.signature import Signature
from holdfast.handler.to_json import to_plain

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def publication(handler: Handler) -> Iterator[PublishedHandler]:
    """Its handlers one by one, as making a schema takes a moment; the default function first, under the empty name."""
    if isinstance(handler.default, HandlerFunction):
        yield _published("", handler.default)
    for name, function in sorted(handler.named.items())[:MOST_HANDLERS]:
        yield _published(name, function)


def arguments_schema(signature: Signature) -> dict[str, Any]:
    """The JSON schema of the arguments that a task has for this signature; of those of a type that has none, any
    value."""
    definitions: dict[str, Any] = {}
    own = [one for one in signature.own.parameters.values() if one.name in signature.known]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: _of_parameter(one, definitions) for one in own},
        "additionalProperties": signature.open,
    }
    if required := [one.name for one in own if one.name in signature.required]:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return schema


def _published(name: str, function: HandlerFunction) -> PublishedHandler:
    options = function.options
    return PublishedHandler(
        name,
        arguments=arguments_schema(function.signature) if name else None,
        takes_text=function.signature.messages,
        summary=_summary(function),
        lane=options.lane or "",
        max_attempts=options.max_attempts,
        timeout=options.timeout,
    )


def _summary(function: HandlerFunction) -> str:
    lines = (inspect.getdoc(function.function) or "").strip().splitlines()
    return lines[0].encode(errors="replace").decode()[:LONGEST_SUMMARY] if lines else ""


def _of_parameter(one: inspect.Parameter, definitions: dict[str, Any]) -> dict[str, Any]:
    try:
        schema = _of_annotation(one.annotation)
    except Exception:  # the user's own types make their schemas
        schema = {}
    for name, definition in schema.pop("$defs", {}).items():
        if definitions.setdefault(name, definition) != definition:
            schema = {}  # two types of one name: the worker tells them apart
    return schema | _default(one)


def _of_annotation(annotation: Any) -> dict[str, Any]:
    if not is_converted(annotation):
        return {}
    if isinstance(annotation, type) and annotation in PLAIN:
        return {"type": PLAIN[annotation]}
    if has_struct(annotation):
        return msgspec.json.schema(annotation)
    import pydantic  # only where there is an annotation: it is slow to import

    return pydantic.TypeAdapter(annotation).json_schema()


def _default(one: inspect.Parameter) -> dict[str, Any]:
    """The default, where JSON has it."""
    if one.default is one.empty:
        return {}
    try:
        plain = to_plain(one.default)
        check_json("default", plain)
    except (TypeError, ValueError, InvalidTaskError):
        return {}
    return {"default": plain}
