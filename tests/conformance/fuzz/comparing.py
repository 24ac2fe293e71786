"""Answers without what two stores may tell differently: names of places, order of what has none, real time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from msgspec import Struct

OWN = frozenset({"position", "address", "cursor", "beat_ago_ms"})


def plain(answer: object) -> Any:
    """`answer` as lists and dicts that can be compared and printed."""
    if names := _fields(answer):
        return {"": type(answer).__name__, **{name: plain(getattr(answer, name)) for name in names if name not in OWN}}
    if isinstance(answer, Mapping):
        return {str(key): plain(value) for key, value in sorted(answer.items())}
    if isinstance(answer, list | tuple):
        return [plain(each) for each in answer]
    if isinstance(answer, set | frozenset):
        return sorted(plain(each) for each in answer)
    return str(answer) if isinstance(answer, str) else answer


def _fields(answer: object) -> tuple[str, ...]:
    """The names of the fields of a struct or of a dataclass; none of anything else."""
    if isinstance(answer, Struct):
        return answer.__struct_fields__
    if is_dataclass(answer) and not isinstance(answer, type):
        return tuple(field.name for field in fields(answer))
    return ()


def difference(one: Any, other: Any, path: str = "") -> str:
    """Where two plain answers part for the first time, or empty."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if text := difference(one.get(key), other.get(key), f"{path}.{key}"):
                return text
        return ""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            if text := difference(left, right, f"{path}[{place}]"):
                return text
        return ""
    return "" if one == other else f"{path or 'answer'}: {one!r} or {other!r}"
