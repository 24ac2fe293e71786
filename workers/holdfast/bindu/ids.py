"""Converts ids: the framework's are UUID objects, those of Holdfast are texts of any form."""

from __future__ import annotations

from uuid import UUID, uuid5

_OURS = UUID("8e4f3a52-2f0b-5c57-9d7e-6b1c0d9a4e21")  # names ids that are no UUIDs themselves


def named(text: object, place: str = "") -> UUID:
    """The UUID that this text spells; for any other text a UUID made of it and `place`, always the same."""
    if isinstance(text, UUID):
        return text
    try:
        return UUID(str(text))
    except ValueError:
        return uuid5(_OURS, f"{place}\n{text}")


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
