"""A handler in words: its functions, where each runs, what is passed to it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from holdfast.handler.callee import Callee, Kind
from holdfast.handler.handler import Handler
from holdfast.handler.options import Options
from holdfast.handler.program.program import Program


@dataclass(frozen=True, slots=True)
class Described:
    """`name` is empty for the function that tasks without a name get; `options`: what it asks for itself."""

    name: str
    kind: str
    takes: tuple[str, ...]
    options: Options = field(default_factory=Options)


def describe(handler: Handler) -> Iterator[Described]:
    """The default first, then those with names."""
    match handler.default:
        case Callee() as function:
            yield _described("", function)
        case Program() as program:
            yield Described("", f"{program.command.path}, a process for each task", ("JSON on standard input",))
        case _:
            pass
    for name, function in sorted(handler.named.items()):
        yield _described(name, function)


def _described(name: str, callee: Callee) -> Described:
    signature = callee.signature
    special = [*(["messages"] if signature.messages else []), *([signature.task] if signature.task else [])]
    own = [each if each in signature.required else f"{each}=…" for each in sorted(signature.known)]
    takes = tuple(special + own + (["**kwargs"] if signature.open else []))
    return Described(name, _kind(callee), takes, callee.options)


def _kind(callee: Callee) -> str:
    match callee.kind:
        case Kind.COROUTINE:
            return "coroutine"
        case Kind.ASYNC_GENERATOR:
            return "async generator"
        case Kind.SYNC:
            return "generator in a thread" if _is_generator(callee.function) else "function in a thread"


def _is_generator(function: Callable[..., object]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.isgeneratorfunction(function if inspect.isroutine(function) else type(function).__call__)
