"""Describes a handler in words: its functions, where each runs, the arguments it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.handler.command.command_runner import CommandRunner
from holdfast.handler.function import HandlerFunction
from holdfast.handler.function_kind import FunctionKind, is_generator
from holdfast.handler.handler import Handler
from holdfast.handler.handler_options import HandlerOptions


@dataclass(frozen=True, slots=True)
class DescribedFunction:
    """`name` is empty for the function that tasks without a name get; `options`: given when it was
    registered."""

    name: str
    kind: str
    takes: tuple[str, ...]
    options: HandlerOptions = field(default_factory=HandlerOptions)


def describe(handler: Handler) -> Iterator[DescribedFunction]:
    """The default first, then those with names."""
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
