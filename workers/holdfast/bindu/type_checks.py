"""Checks arguments of callers as the framework's own storages do: with TypeError."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID


def checked(what: str, value: object) -> UUID:
    """An id: a UUID, or a text that is one."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value if isinstance(value, str) else "")
    except ValueError:
        raise TypeError(f"{what} must be a UUID, got {ascii(value)[:80]}") from None


def document(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{what} must be dict, got {type(value).__name__}")
    return cast("dict[str, Any]", value)


def documents(what: str, each: str, value: object) -> list[dict[str, Any]]:
    """None stands for none."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{what} must be list, got {type(value).__name__}")
    return [document(each, one) for one in cast("list[object]", value)]
