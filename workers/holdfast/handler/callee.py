"""One function of the user's, with what is known of it before it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from holdfast.errors import HandlerError
from holdfast.handler.options import Options
from holdfast.handler.signature import Signature, inspect_signature


class Kind(Enum):
    """Where a handler runs: async ones on the event loop, every other in a thread."""

    COROUTINE = auto()
    ASYNC_GENERATOR = auto()
    SYNC = auto()


@dataclass(frozen=True, slots=True)
class Callee:
    function: Callable[..., Any]
    kind: Kind
    signature: Signature
    options: Options


def callee(function: object, what: str, *, named: bool, options: Options | None = None) -> Callee:
    """The function, inspected. `what` names it in errors. Raises HandlerError."""
    if inspect.isclass(function):
        raise HandlerError(f"{what} is a class: name a function, an instance, or call a worker class: Worker('A')")
    if not callable(function):
        raise HandlerError(f"{what} is {type(function).__name__}, not a function or a Handlers registry")
    return Callee(function, _kind(function), inspect_signature(function, what, named=named), options or Options())


def _kind(function: Callable[..., object]) -> Kind:
    while isinstance(function, functools.partial):
        function = function.func
    code = function if inspect.isroutine(function) else type(function).__call__
    if inspect.iscoroutinefunction(code):
        return Kind.COROUTINE
    return Kind.ASYNC_GENERATOR if inspect.isasyncgenfunction(code) else Kind.SYNC
