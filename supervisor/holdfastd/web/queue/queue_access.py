"""The queue that the pages show, notes of who has changed it, and the places of its lists in an address."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from starlette.exceptions import HTTPException
from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.core.activity import Activity
from holdfast.errors import StoreError
from holdfast.store import Store
from holdfast_config import Settings
from holdfastd.web.queue.redaction import Redaction


@dataclass(frozen=True, slots=True)
class QueueAccess:
    store: Store
    manager: TaskManager
    settings: Settings

    @property
    def queue(self) -> str:
        return self.settings.queue_name

    @property
    def redaction(self) -> Redaction:
        """Hides what these settings hide: everything that was written by producers and handlers passes it."""
        return Redaction.of(self.settings.web_redact)


def queue_of(request: Request) -> QueueAccess:
    """The queue of the application that answers this request."""
    access = request.app.state.access
    assert isinstance(access, QueueAccess)
    return access


# Writes down who has asked for a change, from where, and why it was refused.

MOST = 500  # characters of a text that is kept
MOST_REFUSALS = 1000  # of one name in an hour
HOUR = 3600.0  # seconds


@dataclass(slots=True)
class RefusalBound:
    """Limits the noted refusals of one user. Otherwise a viewer could, on purpose, drive the changes of others out of
    the list. `_counts`: by name, the refusals of this hour."""

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
    """Note a change in Activity. If the note fails, the change still stands: it was made or refused before."""
    bound = request.app.state.refusals
    assert isinstance(bound, RefusalBound)
    if (admitted := bound.admitted(activity, time.monotonic())) is not None:
        texts = {name: getattr(admitted, name)[:MOST] for name in ("change", "subject", "outcome", "related")}
        with suppress(StoreError):
            await queue_of(request).store.note_activity(replace(admitted, **texts))


def origin(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else "a local socket"


# The place after which a list goes on, as an address holds it.

DIGITS = 7


def list_place(request: Request) -> int:
    """0 where the address has none. Raises HTTPException 400."""
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        raise HTTPException(400, f"after {text[:50]!r}: a number is expected")
    return int(text)


# A position in a stream of the store, as an address holds it.

_POSITION = re.compile(r"([0-9]{1,19}-[0-9]{1,19})?")


def stream_position(request: Request, name: str) -> str:
    """Empty where the address has none. Raises HTTPException 400 for anything that is no position."""
    return position_of(name, request.query_params.get(name, ""))


def position_of(name: str, given: str) -> str:
    """Raises HTTPException 400 for a text that is no position and not empty."""
    if not _POSITION.fullmatch(given):
        raise HTTPException(
            400, f"{name} {given[:50]!r}: the position of an entry, such as 1700000000000-0, is expected"
        )
    return given
