"""Methods of a class that are those of one of its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
Part = TypeVar("Part")
P = ParamSpec("P")
R = TypeVar("R")


def delegate(part_of: Callable[[T], Part], method: Callable[Concatenate[Part, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method with the signature and the docstring of `method`, which calls it on the part of its object."""

    @functools.wraps(method)
    def call(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(part_of(self), *args, **kwargs)

    return call
