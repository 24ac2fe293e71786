"""Makes the description of each handler that a worker publishes: its name, and a JSON schema of its arguments, made
from its signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.core.plain_json import check_json
from holdfast.core.published_handlers import LONGEST_SUMMARY, MOST_HANDLERS, PublishedHandler
from holdfast.errors import InvalidTaskError
from holdfast.handler.command.command_runner import CommandRunner
from holdfast.handler.converters import has_struct, is_converted
from holdfast.handler.handler import FunctionKind, Handler, HandlerFunction, HandlerOptions, is_generator
from holdfast.handler.returned_value import to_plain
from holdfast.handler.signature import Signature

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def publication(handler: Handler) -> Iterator[PublishedHandler]:
    """The worker's handlers one by one, because making a schema takes time. The default function comes first, under the
    empty name."""
    if isinstance(handler.default, HandlerFunction):
        yield _published("", handler.default)
    for name, function in sorted(handler.named.items())[:MOST_HANDLERS]:
        yield _published(name, function)


def arguments_schema(signature: Signature) -> dict[str, Any]:
    """The JSON schema of a task's arguments for this signature. If a type has no schema, any value is allowed."""
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
    paragraph = (inspect.getdoc(function.function) or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split()).encode(errors="replace").decode()[:LONGEST_SUMMARY]


def _of_parameter(one: inspect.Parameter, definitions: dict[str, Any]) -> dict[str, Any]:
    try:
        schema = _of_annotation(one.annotation)
    except Exception:  # a type of the user's makes its own schema, and may fail
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
    """The default value of the parameter, if JSON can carry it."""
    if one.default is one.empty:
        return {}
    try:
        plain = to_plain(one.default)
        check_json("default", plain)
    except (TypeError, ValueError, InvalidTaskError):
        return {}
    return {"default": plain}


# Describes a handler in words: its functions, where each runs, the arguments it takes.


@dataclass(frozen=True, slots=True)
class DescribedFunction:
    """A function of a handler, in words. `name` is empty for the default function. `options`: the options of its
    registration."""

    name: str
    kind: str
    takes: tuple[str, ...]
    options: HandlerOptions = field(default_factory=HandlerOptions)


def describe(handler: Handler) -> Iterator[DescribedFunction]:
    """The functions of the handler in words, the default function first."""
    match handler.default:
        case HandlerFunction() as function:
            yield _described("", function)
        case CommandRunner() as program:
            yield DescribedFunction("", f"{program.command.path}, a process for each task", ("JSON on standard input",))
        case _:
            pass
    for name, function in sorted(handler.named.items()):
        yield _described(name, function)


def _described(name: str, callee: HandlerFunction) -> DescribedFunction:
    signature = callee.signature
    special = [*(["messages"] if signature.messages else []), *([signature.task] if signature.task else [])]
    special += [f"{each} (of a lifespan)" for each in signature.injected]
    special += [f"{signature.values.name} (of parents)"] if signature.values else []
    own = [each if each in signature.required else f"{each}=…" for each in sorted(signature.known)]
    takes = tuple(special + own + (["**kwargs"] if signature.open else []))
    return DescribedFunction(name, _kind(callee), takes, callee.options)


def _kind(callee: HandlerFunction) -> str:
    match callee.kind:
        case FunctionKind.COROUTINE:
            return "coroutine"
        case FunctionKind.ASYNC_GENERATOR:
            return "async generator"
        case FunctionKind.SYNC:
            return "generator in a thread" if is_generator(callee.function) else "function in a thread"
