"""The events that an address asks for: `?kind=crashed&kind=settled&lane=mail&handler=send&task=t-1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from holdfast.core.activity import Happening
from holdfast.core.trail import EVENTS

LONGEST = 256  # characters of a name


class TaskPlace(NamedTuple):
    """The lane and the handler of a task."""

    lane: str
    handler: str


class EventSelection(NamedTuple):
    """Empty: any. A lane's own events are of that lane; an event of no known task is of no handler."""

    kinds: frozenset[str] = frozenset()
    task: str = ""
    lane: str = ""
    handler: str = ""

    @classmethod
    def of(cls, query: QueryParams) -> EventSelection:
        """Raises HTTPException 400 for a value that is not allowed."""
        kinds = frozenset(kind for kind in query.getlist("kind") if kind)
        if unknown := kinds - set(EVENTS):
            raise HTTPException(400, f"kind {min(unknown)[:50]!r}: one of {', '.join(EVENTS)} is expected")
        names = {name: query.get(name, "").strip() for name in ("task", "lane", "handler")}
        for name, given in names.items():
            if len(given) > LONGEST:
                raise HTTPException(400, f"{name} {given[:50]!r}…: at most {LONGEST} characters are expected")
        return cls(kinds, **names)

    @property
    def needs_places(self) -> bool:
        return bool(self.lane or self.handler)

    def concerns(self, event: Happening) -> bool:
        """True if the kind and the task of an event are selected; its lane and handler may still rule it out."""
        return (not self.kinds or event.event in self.kinds) and self.task in ("", event.subject)

    def matches(self, event: Happening, places: Mapping[str, TaskPlace]) -> bool:
        if not self.concerns(event):
            return False
        if not self.needs_places:
            return True
        if event.event.startswith("lane-"):
            return not self.handler and event.subject == self.lane
        place = places.get(event.subject)
        return place is not None and self.lane in ("", place.lane) and self.handler in ("", place.handler)
