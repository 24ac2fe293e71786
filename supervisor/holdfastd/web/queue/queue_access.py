"""The queue that the pages show, the entries for Activity, and the positions of lists in the query of a URL."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace

from starlette.exceptions import HTTPException
from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.core.activity import Activity
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
        """The object that hides the secrets that the settings name. Every text of a producer or a handler goes through
        it before it is shown."""
        return Redaction.of(self.settings.web_redact)


def queue_of(request: Request) -> QueueAccess:
    """The queue of the application that answers this request."""
    access = request.app.state.access
    assert isinstance(access, QueueAccess)
    return access


# Writes a change to Activity: who asked for it, from where, and why it was refused.

WARNING = "holdfast-warning"  # name of the header, and of the value in the scope: see `AskedChange.warning`
MOST = 500  # characters of a text in an entry
MOST_REFUSALS = 1000  # refusals of one user in an hour that get an entry
HOUR = 3600.0  # seconds


@dataclass(slots=True)
class RefusalBound:
    """Limits the refusals of one user in Activity. Otherwise a viewer could push the changes of others out of the list
    on purpose. `_counts`: by user, the number of refusals in this hour."""

    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _until: float = 0.0

    def admitted(self, activity: Activity, now: float) -> Activity | None:
        """The entry to write; None if the user has had too many refusals. The last entry of an hour says that it is the
        last."""
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
    """Write an entry to Activity. Raises StoreError."""
    bound = request.app.state.refusals
    assert isinstance(bound, RefusalBound)
    if (admitted := bound.admitted(activity, time.monotonic())) is not None:
        texts = {name: getattr(admitted, name)[:MOST] for name in ("change", "subject", "outcome", "related")}
        await queue_of(request).store.note_activity(replace(admitted, **texts))


def origin(request: Request) -> str:
    """The IP address from which a request comes; `a local socket` if there is none."""
    return request.client.host if request.client else "a local socket"


# The place at which a list continues, in the query of a URL.

DIGITS = 7


def list_place(request: Request) -> int:
    """The place at which a list continues: the number in `?after=` of the URL, or 0 if there is none. Raises
    HTTPException 400 if the text is no number."""
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        raise HTTPException(400, f"after {text[:50]!r}: a number is expected")
    return int(text)


# A position in a stream of the store, in the query of a URL.

_POSITION = re.compile(r"([0-9]{1,19}-[0-9]{1,19})?")


def stream_position(request: Request, name: str) -> str:
    """The position in this field of the query; empty if there is none. Raises HTTPException 400 for any other text."""
    return position_of(name, request.query_params.get(name, ""))


def position_of(name: str, given: str) -> str:
    """The position, unchanged; it may be empty. Raises HTTPException 400 for any other text."""
    if not _POSITION.fullmatch(given):
        raise HTTPException(
            400, f"{name} {given[:50]!r}: the position of an entry, such as 1700000000000-0, is expected"
        )
    return given
