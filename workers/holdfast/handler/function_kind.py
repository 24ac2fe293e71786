"""The kinds of functions: coroutine functions, async generators, and all that run in a thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import Enum, auto


class FunctionKind(Enum):
    """Async functions run on the event loop, every other one in a thread."""

    COROUTINE = auto()
    ASYNC_GENERATOR = auto()
    SYNC = auto()


def kind_of(function: Callable[..., object]) -> FunctionKind:
    """The kind of a function, a partial of one, or an object that is called."""
    code = _code(function)
    if inspect.iscoroutinefunction(code):
        return FunctionKind.COROUTINE
    return FunctionKind.ASYNC_GENERATOR if inspect.isasyncgenfunction(code) else FunctionKind.SYNC


def is_generator(function: Callable[..., object]) -> bool:
    """True for a generator function that is not async."""
    return inspect.isgeneratorfunction(_code(function))


def _code(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__
