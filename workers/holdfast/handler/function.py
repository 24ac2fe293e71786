"""One function of the user's, inspected before it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.errors import HandlerError
from holdfast.handler.function_kind import FunctionKind, kind_of
from holdfast.handler.handler_options import HandlerOptions
from holdfast.handler.injected_values import with_values
from holdfast.handler.middleware import Middleware
from holdfast.handler.signature import Signature, inspect_signature


@dataclass(frozen=True, slots=True)
class HandlerFunction:
    """`what` names the function in errors. `middleware` is around each call, the first one outermost. `is_unbounded`:
    True for a coroutine without limits of its own and without middleware."""

    function: Callable[..., Any]
    kind: FunctionKind
    signature: Signature
    options: HandlerOptions
    what: str = ""
    is_named: bool = False
    middleware: tuple[Middleware, ...] = ()
    is_unbounded: bool = field(init=False)

    def __post_init__(self) -> None:
        options, is_bare = self.options, self.kind is FunctionKind.COROUTINE and not self.middleware
        is_unbounded = is_bare and options.timeout is None and options.concurrency is None
        object.__setattr__(self, "is_unbounded", is_unbounded)  # once: it is asked for each task

    def with_types(self, types: Collection[Any]) -> HandlerFunction:
        """Inspected anew: `types` are those of lifespans' values. Raises HandlerError."""
        return replace(self, signature=inspect_signature(self.function, self.what, named=self.is_named, types=types))

    def given(self, values: Mapping[Any, object]) -> HandlerFunction:
        """The function with the values of lifespans bound, by the type that each yields."""
        function = with_values(self.function, self.signature.injected, values)
        return replace(self, function=function, middleware=tuple(each.given(values) for each in self.middleware))


class FunctionObject:
    """An object that is called as the function that it holds."""

    function: Callable[..., Any]


def callee(
    function: object, what: str, *, named: bool, options: HandlerOptions | None = None, types: Collection[Any] = ()
) -> HandlerFunction:
    """The function, inspected. `what` names it in errors; `types` are those of lifespans' values. Raises
    HandlerError."""
    if isinstance(function, FunctionObject):
        function = function.function
    if inspect.isclass(function):
        raise HandlerError(f"{what} is a class: name a function, an instance, or call a worker class: Worker('A')")
    if not callable(function):
        raise HandlerError(f"{what} is {type(function).__name__}, not a function or a Handlers registry")
    kind = kind_of(function)
    if options is not None and options.in_main_thread and kind is not FunctionKind.SYNC:
        raise HandlerError(f"{what} is async: thread='main' is for plain functions; the event loop runs this one")
    signature = inspect_signature(function, what, named=named, types=types)
    return HandlerFunction(function, kind, signature, options or HandlerOptions(), what, named)
