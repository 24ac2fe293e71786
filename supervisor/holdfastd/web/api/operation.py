"""An operation of the API: its method and path, and a function whose annotations say what it takes and answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_type_hints

from holdfastd.operations.act import Act

QUERY, BODY = "query", "body"  # parameters that are decoded; all others are segments of the path


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """`path`: with `{name}` for a segment; `act`: that it carries out; None: it only reads; `statuses`: of its answers
    that are no errors; `examples`: of its body, by a name."""

    method: str
    path: str
    function: Callable[..., Awaitable[Any]]
    act: Act[Any, Any] | None = None
    statuses: tuple[int, ...] = (200,)
    examples: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path[1:].split("/"))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the segments that vary."""
        return tuple(each[1:-1] for each in self.segments if each.startswith("{"))

    @property
    def hints(self) -> dict[str, Any]:
        """The types of the function's parameters, and that of its answer as `return`."""
        return _hints(self.function)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())

    def matches(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """The values of `fields` in a path; None for another path."""
        if len(segments) != len(self.segments):
            return None
        found = dict[str, str]()
        for own, given in zip(self.segments, segments, strict=True):
            if own.startswith("{"):
                found[own[1:-1]] = given
            elif own != given:
                return None
        return found


@cache
def _hints(function: Callable[..., Awaitable[Any]]) -> dict[str, Any]:
    return get_type_hints(function, include_extras=True)
