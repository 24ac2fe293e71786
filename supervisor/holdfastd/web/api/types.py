"""Values that several operations take."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from holdfastd.web.queue.found_tasks import Cursor

Limit = Annotated[int, Meta(ge=1, le=500, description="Maximum number of items.")]


class PageQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A page of a list."""

    limit: Limit = 100
    cursor: Cursor = ""
