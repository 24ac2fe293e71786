"""Writes down who has asked for a change, from where, and why it was refused."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from starlette.requests import Request

from holdfast.core.activity import Activity
from holdfast.errors import StoreError
from holdfastd.web.queue.queue_access import queue_of

MOST = 500  # characters of a text that is kept
MOST_REFUSALS = 1000  # of one name in an hour
HOUR = 3600.0  # seconds


@dataclass(slots=True)
class RefusalBound:
    """Keeps one who is refused again and again, as a viewer may be on purpose, from driving the changes of others out
    of the list, which has room for so many. `_counts`: by name, the refusals of this hour."""

    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _until: float = 0.0

    def admitted(self, activity: Activity, now: float) -> Activity | None:
        """The entry to write down; None for one refusal too many. The last one of an hour says that it is the last."""
        if not activity.is_refused:
            return activity
        if now >= self._until:
            self._until = now + HOUR
            self._counts.clear()
        count = self._counts[activity.who] = self._counts.get(activity.who, 0) + 1
        if count < MOST_REFUSALS:
            return activity
        if count > MOST_REFUSALS:
            return None
        last = f" (the last of {MOST_REFUSALS} refusals of {activity.who} that are listed in an hour)"
        return replace(activity, outcome=activity.outcome[: MOST - len(last)] + last)


async def note(request: Request, activity: Activity) -> None:
    """A change counts although the note of it fails: it was made, or refused, before."""
    bound = request.app.state.refusals
    assert isinstance(bound, RefusalBound)
    if (admitted := bound.admitted(activity, time.monotonic())) is not None:
        texts = {name: getattr(admitted, name)[:MOST] for name in ("change", "subject", "outcome", "related")}
        with suppress(StoreError):
            await queue_of(request).store.note_activity(replace(admitted, **texts))


def origin(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else "a local socket"
