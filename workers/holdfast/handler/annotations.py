"""Looks up the names in annotations of handlers, and says which of them nobody knows.

A handler is inspected when it is registered: the class that its annotation names may stand below it. So a name that is
not known then is looked up once more when the import is over. One that is still unknown is refused: without it the
handler would get unchecked data where its signature promises an object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Annotated, Any, ForwardRef, Literal, cast, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

_LISTS = (list,)


def looked_up(annotation: Any, names: Mapping[str, Any]) -> Any:
    """The annotation as a value, with all names in it looked up in `names`; as it is if they are not known."""
    if not _written(annotation):
        return annotation
    try:
        hints = get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), dict(names), include_extras=True)
    except Exception:  # a name that type checkers alone know, or that is defined later
        return annotation
    return hints["it"]


def unknown_names(annotation: Any) -> list[str]:
    """The names in an annotation that cannot be looked up, also in the fields of the classes that it names."""
    return sorted(_unknown(annotation, set()))


def _written(annotation: Any) -> set[str]:
    """The parts of an annotation that are still names."""
    if isinstance(annotation, str):
        return {annotation}
    if isinstance(annotation, ForwardRef):
        return {annotation.__forward_arg__}
    if get_origin(annotation) is Literal:
        return set()
    parts = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return {name for part in parts for name in (_of_list(part) if type(part) in _LISTS else _written(part))}


def _of_list(parts: list[Any]) -> set[str]:
    """The names in the parameters of a Callable."""
    return {name for part in parts for name in _written(part)}


def _unknown(annotation: Any, seen: set[Any]) -> set[str]:
    found = _written(annotation)
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and part not in seen:
            seen.add(part)
            found |= _unknown_fields(part, seen)
        elif part is not annotation and get_args(part) and get_origin(part) is not Literal:
            found |= _unknown(part, seen)
    return found


def _unknown_fields(kind: type[Any], seen: set[Any]) -> set[str]:
    if "__pydantic_complete__" in vars(kind):
        return _unknown_of_model(kind)
    if not (dataclasses.is_dataclass(kind) or is_typeddict(kind) or issubclass(kind, (msgspec.Struct, tuple))):
        return set()
    try:
        hints = get_type_hints(cast(Any, kind), include_extras=True)
    except NameError as error:
        return {f"{error.name} in {kind.__qualname__}"}
    except Exception:  # pydantic and msgspec say what is wrong with it
        return set()
    return {name for hint in hints.values() for name in _unknown(hint, seen)}


def _unknown_of_model(model: Any) -> set[str]:
    """A model of pydantic looks up its fields itself, the last time now."""
    try:
        if model.__pydantic_complete__ or model.model_rebuild(raise_errors=False, _types_namespace=None):
            return set()
    except Exception:  # a class that only looks like a model
        return set()
    return {f"a field of {model.__qualname__}"}
