"""Middleware: a function around each call of a handler, inspected when it is registered.

It gets the task and `call`. `call()` runs the middleware and the handler inside it, returns the value of the handler,
and raises its exception.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import HandlerError
from holdfast.handler.function_kind import FunctionKind, is_generator, kind_of
from holdfast.handler.injected_values import injected, with_values
from holdfast.handler.signature import parameters_of


@dataclass(frozen=True, slots=True)
class Middleware:
    """`wanted`: its parameters beside task and call, each with the type of a lifespan's value."""

    function: Callable[..., Any]
    is_async: bool
    wanted: Mapping[str, Any]

    def given(self, values: Mapping[Any, object]) -> Middleware:
        """The middleware with the values of lifespans bound."""
        return replace(self, function=with_values(self.function, self.wanted, values))


def inspect_middleware(function: object, types: Collection[Any]) -> Middleware:
    """The middleware, inspected; `types` are those of lifespans' values. Raises HandlerError."""
    name = getattr(function, "__name__", type(function).__name__)
    what = f"the middleware {name!a}"
    if isinstance(function, type) or not callable(function):
        raise HandlerError(f"{what} is no function: write it as a function of (task, call)")
    if kind_of(function) is FunctionKind.ASYNC_GENERATOR or is_generator(function):
        raise HandlerError(
            f"{what} yields: middleware is no generator; it calls the handler, as in `return await call()`"
        )
    parameters = parameters_of(function, what)
    first = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)][:2]
    others = [one for one in parameters if one not in first]
    wanted = injected(others, types)
    unfilled = [one for one in others if one.name not in wanted and one.default is one.empty]
    if len(first) < 2 or any(one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in unfilled):
        names = ", ".join(one.name for one in parameters)
        raise HandlerError(
            f"{what} has the parameters ({names}): (task, call) are expected, behind them only values of lifespans"
        )
    return Middleware(function, kind_of(function) is FunctionKind.COROUTINE, wanted)
