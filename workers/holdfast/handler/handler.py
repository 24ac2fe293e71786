"""A worker's handler: a default function or runner, functions by name, or both. Each function was inspected when it was
registered."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Protocol

from holdfast.client.arguments import check_attempts, check_lane, check_seconds
from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.messages import Message
from holdfast.core.outcomes import Outcome
from holdfast.core.plain_json import shown
from holdfast.errors import HandlerError, InvalidTaskError
from holdfast.handler.lifespan import Lifespan
from holdfast.handler.signature import Signature, injected, inspect_signature, parameters_of, with_values
from holdfast.handler.task import Task
from holdfast_config import Settings
from holdfast_config.lanes import Lane

# A function of the user, inspected before it is called.

# The kinds of functions: coroutine functions, async generators, and plain functions, which run in a thread.


class FunctionKind(Enum):
    """The kind of a function. Async functions run on the event loop, all others in a thread."""

    COROUTINE = auto()
    ASYNC_GENERATOR = auto()
    SYNC = auto()


def kind_of(function: Callable[..., object]) -> FunctionKind:
    """The kind of a function. `function` may also be a partial of a function, or an object that can be called."""
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


# Middleware: a function around each call of a handler, inspected when it is registered.
#
# It gets the task and `call`. `call()` runs the middleware and the handler inside it, returns the value of the handler,
# and raises its exception.


@dataclass(frozen=True, slots=True)
class Middleware:
    """A middleware function and what an inspection has found. `wanted`: its parameters other than task and call, each
    with the type of the lifespan value that it gets."""

    function: Callable[..., Any]
    is_async: bool
    wanted: Mapping[str, Any]

    def given(self, values: Mapping[Any, object]) -> Middleware:
        """The middleware with the values of lifespans bound."""
        return replace(self, function=with_values(self.function, self.wanted, values))


def inspect_middleware(function: object, types: Collection[Any]) -> Middleware:
    """Inspect a middleware function. `types`: the types of the values that lifespans yield. Raises HandlerError."""
    name = getattr(function, "__name__", type(function).__name__)
    what = f"the middleware {name!a}"
    if isinstance(function, type) or not callable(function):
        raise HandlerError(f"{what} is no function: write it as a function of (task, call)")
    if kind_of(function) is FunctionKind.ASYNC_GENERATOR or is_generator(function):
        raise HandlerError(
            f"{what} contains a yield: call the handler and return its result instead, as in `return await call()`"
        )
    parameters = parameters_of(function, what)
    first = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)][:2]
    others = [one for one in parameters if one not in first]
    wanted = injected(others, types)
    unfilled = [one for one in others if one.name not in wanted and one.default is one.empty]
    if len(first) < 2 or any(one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in unfilled):
        names = ", ".join(one.name for one in parameters)
        raise HandlerError(
            f"{what} has the parameters ({names}): (task, call) are expected, and after them only values of lifespans"
        )
    return Middleware(function, kind_of(function) is FunctionKind.COROUTINE, wanted)


# The options of a named handler, given when it is registered.

MOST_AT_ONCE = 1_000
MAIN = "main"


@dataclass(frozen=True, slots=True)
class HandlerOptions:
    """The options of a handler; None: the worker's settings count. `timeout`: the seconds that one run may take.
    `concurrency`: how many of its tasks run at once in one worker. `lane`: where producers with this registry submit
    its tasks. `thread`: "main" for a plain function that needs the process's main thread, for example to use
    signals."""

    max_attempts: int | None = None
    timeout: float | None = None
    concurrency: int | None = None
    lane: str | None = None
    thread: str | None = None

    @property
    def places(self) -> int | None:
        """How many tasks of the handler run at once in one worker; None: the handler sets no limit."""
        return 1 if self.in_main_thread else self.concurrency

    @property
    def in_main_thread(self) -> bool:
        return self.thread == MAIN

    def check(self, what: str) -> None:
        """Raise HandlerError, naming the handler as `what`, for values that are not allowed."""
        try:
            check_attempts(self.max_attempts)
            if self.timeout is not None:
                check_seconds("timeout", self.timeout, positive=True)
            if self.lane is not None:
                check_lane(self.lane)
        except InvalidTaskError as error:
            raise HandlerError(f"{what}: {error}") from None
        if self.thread not in (None, MAIN):
            raise HandlerError(f"{what}: thread {shown(self.thread)}: {MAIN!r} is allowed, or None for any thread")
        most = self.concurrency
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_AT_ONCE):
            raise HandlerError(f"{what}: concurrency {shown(most)}: a whole number from 1 to {MOST_AT_ONCE} is allowed")


@dataclass(frozen=True, slots=True)
class HandlerFunction:
    """A function of the user and what an inspection has found. `what` names the function in errors. `middleware`: the
    functions around each call; the first is the outermost. `is_unbounded`: True for a coroutine without own limits and
    without middleware."""

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
        object.__setattr__(self, "is_unbounded", is_unbounded)  # computed once, because each task reads it

    def with_types(self, types: Collection[Any]) -> HandlerFunction:
        """The function inspected again, now with `types`, the types of lifespan values. Raises HandlerError."""
        return replace(self, signature=inspect_signature(self.function, self.what, named=self.is_named, types=types))

    def given(self, values: Mapping[Any, object]) -> HandlerFunction:
        """The function with lifespan values bound. `values`: the lifespan values by their type."""
        function = with_values(self.function, self.signature.injected, values)
        return replace(self, function=function, middleware=tuple(each.given(values) for each in self.middleware))


class FunctionObject:
    """An object that can be called like the function that it holds."""

    function: Callable[..., Any]


def callee(
    function: object, what: str, *, named: bool, options: HandlerOptions | None = None, types: Collection[Any] = ()
) -> HandlerFunction:
    """Inspect a handler function. `what`: the function's name in errors. `types`: the types of the values that
    lifespans yield. Raises HandlerError."""
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


# A runner runs a delivery by itself and returns its outcome: a command, or a worker of another framework.


class Runner(Protocol):
    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """Run one delivery. When this returns, or is cancelled, no part of the delivery runs any more."""
        ...


_NO_OPTIONS = HandlerOptions()


@dataclass(frozen=True, slots=True)
class Handler:
    """The handler of a worker. `target`: the name that the operator gave. `named`: its functions by name. `schedules`:
    the schedules that the application's code defines, by id. `lanes`: the lanes that the handler itself names; workers
    take its tasks from them. `lifespans`: a worker opens them in this order."""

    target: str
    default: HandlerFunction | Runner | None = None
    named: Mapping[str, HandlerFunction] = field(default_factory=dict[str, HandlerFunction])
    schedules: Mapping[str, ScheduleSpec] = field(default_factory=dict[str, ScheduleSpec])
    lanes: tuple[Lane, ...] = ()
    lifespans: tuple[Lifespan, ...] = ()

    @property
    def names(self) -> frozenset[str] | None:
        """The names of the registered functions; the empty name is the default function. None: the handler accepts any
        name."""
        if not self.named:
            return None
        return frozenset(self.named) | ({""} if self.default is not None else frozenset[str]())

    def choose(self, name: str | None) -> HandlerFunction | Runner | None:
        """The function or runner of an operation that calls `name`. Without named handlers the name is ignored."""
        return self.named.get(name) if name is not None and self.named else self.default

    def prepare(self) -> None:
        """Make everything now that functions would otherwise make at their first call, such as converters."""
        for function in (self.default, *self.named.values()):
            if isinstance(function, HandlerFunction):
                function.signature.prepare()

    def given(self, values: Mapping[Any, object]) -> Handler:
        """The handler with the values of lifespans bound, by the type that each yields."""
        default = self.default.given(values) if isinstance(self.default, HandlerFunction) else self.default
        return replace(self, default=default, named={name: each.given(values) for name, each in self.named.items()})

    @property
    def first_in_main_thread(self) -> str | None:
        """The name of the first handler that needs the main thread of its process; None if none needs it."""
        return next((name for name, each in self.named.items() if each.options.in_main_thread), None)

    def refuse_main_thread(self, reason: str) -> None:
        """Raise HandlerError if a handler needs the main thread of its process, because the caller cannot offer it.
        `reason`: why, and what to do."""
        if (name := self.first_in_main_thread) is not None:
            raise HandlerError(f"the handler {name!a} has thread='main', so it needs the main thread: {reason}")

    def options(self, name: str | None) -> HandlerOptions:
        """The registered options of the handler that `name` calls."""
        chosen = self.choose(name)
        return chosen.options if isinstance(chosen, HandlerFunction) else _NO_OPTIONS

    def absence(self, name: str | None) -> str:
        """The error text if `choose` finds no handler."""
        known = ", ".join(sorted(self.named)) or "none"
        wanted = "the operation names no handler and there is no default" if name is None else f"no handler {name!a}"
        return f"{wanted}; {self.target} registers: {known}"[:500]


# The base class of objects that provide a handler: the worker classes of `holdfast.timeline`.


class Provider(ABC):
    """An object that provides a handler by its method `__handler__`. No method of a user has this name."""

    @abstractmethod
    def __handler__(self, target: str, settings: Settings | None) -> Handler:
        """The handler that runs the object's tasks. `target` is the name that the operator gave. Raises
        HandlerError."""
