"""The type of `handlers.register(…)`: it takes a function, and gives a handler whose tasks take its own parameters.

Workers fill in some parameters, which are no arguments of the task. These parameters stand first: the Task, then
lifespan values (in the order of `Handlers[First, Second]`) or the values of parents. A function whose first parameter
takes anything (`object`, Any, no annotation) would match every form, so the overload for such a function comes first.
It keeps the type of the result, and type checkers accept any arguments for the tasks. Every form has one overload for
coroutines, one for async generators (their last value is the result), and one for everything else. Overloads overlap,
because an object may be a coroutine: the first that fits counts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, final, overload

from holdfast.handler.registered_handler import RegisteredHandler
from holdfast.handler.signature import ParentValues
from holdfast.handler.task import Task

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    L = TypeVarWithDefault("L", default="Unknown")
    M = TypeVarWithDefault("M", default="Unknown")
else:
    L, M = TypeVar("L"), TypeVar("M")


# A lifespan might yield a Task: the first form counts.
# mypy: disable-error-code="overload-overlap"


P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")


@final
class Unknown:
    """No value has this type, so a parameter that accepts it accepts anything."""


class HandlerDecorator(Protocol[L, M]):  # pyright: ignore[reportInvalidTypeVarUse]  # mypy knows that they are invariant
    """A decorator for handlers. `L`, `M`: the types of the values that two lifespans yield."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Unknown, ...], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[..., Coroutine[Any, Any, R], ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Unknown, ...], AsyncIterator[R]], /
    ) -> RegisteredHandler[..., AsyncIterator[R], ..., R]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[Unknown, ...], R], /) -> RegisteredHandler[..., R, ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, Unknown, ...], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[..., Coroutine[Any, Any, R], ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, Unknown, ...], AsyncIterator[R]], /
    ) -> RegisteredHandler[..., AsyncIterator[R], ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, Unknown, ...], R], /
    ) -> RegisteredHandler[..., R, ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, Unknown, ...], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[..., Coroutine[Any, Any, R], ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, Unknown, ...], AsyncIterator[R]], /
    ) -> RegisteredHandler[..., AsyncIterator[R], ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, Unknown, ...], R], /
    ) -> RegisteredHandler[..., R, ..., R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, ParentValues[V], P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[Task, ParentValues[V], P], Coroutine[Any, Any, R], P, R, V]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, ParentValues[V], P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[Task, ParentValues[V], P], AsyncIterator[R], P, R, V]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, ParentValues[V], P], R], /
    ) -> RegisteredHandler[Concatenate[Task, ParentValues[V], P], R, P, R, V]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[ParentValues[V], P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[ParentValues[V], P], Coroutine[Any, Any, R], P, R, V]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[ParentValues[V], P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[ParentValues[V], P], AsyncIterator[R], P, R, V]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[ParentValues[V], P], R], /
    ) -> RegisteredHandler[Concatenate[ParentValues[V], P], R, P, R, V]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, M, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[Task, L, M, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, M, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[Task, L, M, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, M, P], R], /
    ) -> RegisteredHandler[Concatenate[Task, L, M, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[Task, L, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[Task, L, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, L, P], R], /
    ) -> RegisteredHandler[Concatenate[Task, L, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, M, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[Task, M, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, M, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[Task, M, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, M, P], R], /
    ) -> RegisteredHandler[Concatenate[Task, M, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[Task, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[Task, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Task, P], R], /
    ) -> RegisteredHandler[Concatenate[Task, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[L, M, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[L, M, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[L, M, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[L, M, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[L, M, P], R], /
    ) -> RegisteredHandler[Concatenate[L, M, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[L, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[L, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[L, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[L, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[L, P], R], /
    ) -> RegisteredHandler[Concatenate[L, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[M, P], Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[Concatenate[M, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[M, P], AsyncIterator[R]], /
    ) -> RegisteredHandler[Concatenate[M, P], AsyncIterator[R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[M, P], R], /
    ) -> RegisteredHandler[Concatenate[M, P], R, P, R]: ...

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> RegisteredHandler[P, Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(self, function: Callable[P, AsyncIterator[R]], /) -> RegisteredHandler[P, AsyncIterator[R], P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> RegisteredHandler[P, R, P, R]: ...
