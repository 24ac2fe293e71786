"""A lifespan: a generator that opens an object that handlers share (a pool, a client, a model), yields it, and closes
it.

Each worker runs the generator once: up to its yield before the worker is ready, the rest at the worker's end. The
generator's return annotation names the type of the value, and parameters of that type get the value.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.errors import HandlerError
from holdfast.handler.signature import injected, parameters_of, type_name
from holdfast.handler.task import Task

_GENERATORS = (AsyncGenerator, AsyncIterator, Generator, Iterator)
_OF_ARGUMENTS = (str, int, float, bool, bytes, dict, list, tuple, set, frozenset, object, Any, Task)


@dataclass(frozen=True, slots=True)
class Lifespan:
    """A lifespan and what an inspection has found. `what` names the lifespan in errors. `provides`: the type of the
    value that it yields; None if it yields no value. `wanted`: its own parameters, each with the type of the earlier
    lifespan's value that it gets."""

    function: Callable[..., Any]
    what: str
    is_async: bool
    provides: Any
    wanted: Mapping[str, Any]


def inspect_lifespan(function: Callable[..., Any], types: Collection[Any]) -> Lifespan:
    """Inspect a lifespan. `types`: the types of the values that earlier lifespans yield. Raises HandlerError."""
    what = f"the lifespan {getattr(function, '__name__', type(function).__name__)!a}"
    generator = inspect.unwrap(function)  # @asynccontextmanager may stand under the decorator
    is_async = inspect.isasyncgenfunction(generator)
    if not (is_async or inspect.isgeneratorfunction(generator)):
        raise HandlerError(
            f"{what} is no generator function: write a generator that opens a value, yields it once, and closes it"
        )
    provides = _provided(generator, what)
    if provides in types:
        raise HandlerError(
            f"{what} yields {type_name(provides)}, but an earlier lifespan yields this type, too: make a new type for "
            "one of the two with typing.NewType"
        )
    parameters = parameters_of(generator, what)
    wanted = injected(parameters, types)
    if unknown := [one.name for one in parameters if one.name not in wanted and one.default is one.empty]:
        names = ", ".join(unknown)
        raise HandlerError(
            f"{what} has parameters that Holdfast cannot fill in ({names}): a lifespan may take values of lifespans "
            "that were registered before it; give other parameters a default"
        )
    return Lifespan(generator, what, is_async, provides, wanted)


def _provided(generator: Callable[..., Any], what: str) -> Any:
    advice = "annotate what it yields, as in -> AsyncIterator[Pool], or -> AsyncIterator[None] for no value"
    try:
        returned = get_type_hints(generator, include_extras=True).get("return")
    except Exception as error:
        raise HandlerError(
            f"{what}: its annotations cannot be looked up ({error}): import or define their names in the module of the "
            "lifespan, not only under TYPE_CHECKING"
        ) from None
    if get_origin(returned) not in _GENERATORS:
        raise HandlerError(f"{what} does not say what it yields: {advice}")
    provides = get_args(returned)[0]
    if provides is type(None):
        return None
    if any(each in _OF_ARGUMENTS for each in (provides, get_origin(provides))):
        raise HandlerError(
            f"{what} yields {type_name(provides)}, and arguments of tasks may have this type, too: "
            "yield an object of a class of your own, or make a new type with typing.NewType"
        )
    return provides
