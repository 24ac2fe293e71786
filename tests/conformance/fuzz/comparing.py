"""Answers without what two stores may tell differently: names of places, order of what has none, real time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

OWN = frozenset({"position", "address", "cursor", "beat_ago_ms"})


def plain(answer: object) -> Any:
    """`answer` as lists and dicts that can be compared and printed."""
    if is_dataclass(answer) and not isinstance(answer, type):
        told = {field.name: plain(getattr(answer, field.name)) for field in fields(answer) if field.name not in OWN}
        return {"": type(answer).__name__, **told}
    if isinstance(answer, Mapping):
        return {str(key): plain(value) for key, value in sorted(answer.items())}
    if isinstance(answer, list | tuple):
        return [plain(each) for each in answer]
    if isinstance(answer, set | frozenset):
        return sorted(plain(each) for each in answer)
    return str(answer) if isinstance(answer, str) else answer


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
