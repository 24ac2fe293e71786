"""Values that several operations take."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError
from holdfast_config import durations

Cursor = Annotated[str, Meta(max_length=1000, description="Continue after an earlier page: the cursor that it gave.")]
Limit = Annotated[int, Meta(ge=1, le=500, description="Maximum number of items.")]
Duration = Annotated[str, Meta(min_length=1, max_length=50, description="A duration: seconds, or 90s, 5m, 1h30m, 7d.")]
Reason = Annotated[str, Meta(max_length=1000, description="Reason, kept with what is changed.")]


class Reasoned(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A reason."""

    reason: Reason = ""


class PageQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A page of a list."""

    limit: Limit = 100
    cursor: Cursor = ""


def seconds(field: str, text: str | None) -> float | None:
    """The seconds of a duration. Raises InvalidTaskError that names the field."""
    if text is None:
        return None
    try:
        return durations.seconds(text)
    except ValueError:
        raise InvalidTaskError(
            f"{field} {shown(text)}: a duration is expected: seconds, or 90s, 5m, 1h30m, 7d"
        ) from None
