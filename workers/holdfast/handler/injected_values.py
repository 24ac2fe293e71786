"""Finds the parameters of a function that get values of lifespans, by their annotations, and binds them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

_AROUND = (Union, UnionType, Annotated)


def injected(parameters: Iterable[inspect.Parameter], types: Iterable[Any]) -> dict[str, Any]:
    """The parameters that get the value of a lifespan, each with the type that the lifespan yields."""
    known = tuple(types)
    found = {one.name: _matching(one, known) for one in parameters} if known else {}
    return {name: kind for name, kind in found.items() if kind is not None}


def with_values(function: Any, wanted: Mapping[str, Any], values: Mapping[Any, object]) -> Any:
    """The function with these parameters bound: `values` are those of the lifespans by the type that each yields."""
    return partial(function, **{name: values[kind] for name, kind in wanted.items()}) if wanted else function


def type_name(kind: Any) -> str:
    """The type as it is written in an annotation, without its module."""
    return str(getattr(kind, "__name__", kind))


def _matching(parameter: inspect.Parameter, types: tuple[Any, ...]) -> Any:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return None
    annotation = parameter.annotation
    if isinstance(annotation, str):  # it could not be looked up: compared as it is written
        written = annotation.removesuffix("| None").strip().rpartition(".")[2]
        return next((kind for kind in types if type_name(kind) == written), None)
    choices = (annotation, *(get_args(annotation) if get_origin(annotation) in _AROUND else ()))
    return next((kind for kind in types if kind in choices), None)
