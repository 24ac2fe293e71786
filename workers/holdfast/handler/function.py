"""One function of the user's, inspected before it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from holdfast.errors import HandlerError
from holdfast.handler.handler_options import HandlerOptions
from holdfast.handler.signature import Signature, inspect_signature


class FunctionKind(Enum):
    """Async handlers run on the event loop, every other one in a thread."""

    COROUTINE = auto()
    ASYNC_GENERATOR = auto()
    SYNC = auto()


@dataclass(frozen=True, slots=True)
class HandlerFunction:
    """`is_unbounded`: True for a coroutine without limits of its own."""

    function: Callable[..., Any]
    kind: FunctionKind
    signature: Signature
    options: HandlerOptions
    is_unbounded: bool = field(init=False)

    def __post_init__(self) -> None:
        options, is_coroutine = self.options, self.kind is FunctionKind.COROUTINE
        is_unbounded = is_coroutine and options.timeout is None and options.concurrency is None
        object.__setattr__(self, "is_unbounded", is_unbounded)  # once: it is asked for each task


def callee(function: object, what: str, *, named: bool, options: HandlerOptions | None = None) -> HandlerFunction:
    """The function, inspected. `what` names it in errors. Raises HandlerError."""
    if inspect.isclass(function):
        raise HandlerError(f"{what} is a class: name a function, an instance, or call a worker class: Worker('A')")
    if not callable(function):
        raise HandlerError(f"{what} is {type(function).__name__}, not a function or a Handlers registry")
    return HandlerFunction(
        function, _kind(function), inspect_signature(function, what, named=named), options or HandlerOptions()
    )


def _kind(function: Callable[..., object]) -> FunctionKind:
    while isinstance(function, functools.partial):
        function = function.func
    code = function if inspect.isroutine(function) else type(function).__call__
    if inspect.iscoroutinefunction(code):
        return FunctionKind.COROUTINE
    return FunctionKind.ASYNC_GENERATOR if inspect.isasyncgenfunction(code) else FunctionKind.SYNC
