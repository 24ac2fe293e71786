"""The framework's ids are UUIDs, in objects; ours are texts of any form."""

from __future__ import annotations

from uuid import UUID, uuid5

_OURS = UUID("8e4f3a52-2f0b-5c57-9d7e-6b1c0d9a4e21")  # names ids that are no UUIDs themselves


def named(text: object, place: str = "") -> UUID:
    """The UUID that this text is; for any other text always the same one, of `place`."""
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
