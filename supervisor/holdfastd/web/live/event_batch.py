"""Events that were read at once, encoded once for all listeners who select the same of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from holdfast.client.event_stream import MissedEvents
from holdfast.core.tasks import Happening
from holdfast.why.times import moment
from holdfastd.web.live import messages
from holdfastd.web.live.event_selection import EventSelection, TaskPlace


@dataclass(slots=True)
class EventBatch:
    """`start`: the number of events that the feed has published before these; `notice`: a message that comes before
    them; `shown`: makes of an event's detail the text that may be shown; `unplaced`: the number of their tasks whose
    lane and handler are not known, as they were too many."""

    start: int
    events: tuple[Happening, ...]
    places: dict[str, TaskPlace]
    shown: Callable[[str], str]
    notice: bytes = b""
    unplaced: int = 0
    _encoded: dict[EventSelection, bytes] = field(default_factory=dict[EventSelection, bytes], init=False)
    _texts: dict[Happening, bytes] = field(default_factory=dict[Happening, bytes], init=False)

    @property
    def end(self) -> int:
        return self.start + len(self.events)

    def concerns(self, selection: EventSelection) -> bool:
        return bool(self.notice) or any(selection.matches(event, self.places) for event in self.events)

    def encoded(self, selection: EventSelection) -> bytes:
        """The notice and the selected events as messages. The last event of an entry of the stream has its position:
        a client that goes on behind a position has seen the whole entry."""
        found = self._encoded.get(selection)
        if found is None:
            chosen = [event for event in self.events if selection.matches(event, self.places)]
            ends = [one.position != other.position for one, other in pairwise(chosen)] + [True]
            texts = (self._text(event, is_end) for event, is_end in zip(chosen, ends, strict=False))
            found = self._encoded[selection] = self.notice + b"".join(texts) + self._about_unplaced(selection)
        return found

    def _about_unplaced(self, selection: EventSelection) -> bytes:
        if not (self.unplaced and selection.needs_places):
            return b""
        return left_out(MissedEvents(self.events[0].position, self.events[-1].position), self.unplaced)

    def _text(self, event: Happening, is_end: bool) -> bytes:
        text = self._texts.get(event)
        if text is None:
            text = self._texts[event] = b"data: %s\n" % messages.json(self._document(event))
        return text + (messages.place(event.position) if is_end else b"\n")

    def _document(self, event: Happening) -> dict[str, object]:
        """As `supervisor events --json` prints it, and the lane and the handler of its task where they are known."""
        document: dict[str, object] = {
            "at": moment(event.at_ms),
            "at_ms": event.at_ms,
            "position": event.position,
            "event": event.event,
            "id": event.subject,
            "detail": self.shown(event.detail),
        }
        if place := self.places.get(event.subject):
            document |= {"lane": place.lane, "handler": place.handler}
        return document


def left_out(missed: MissedEvents, count: int | None = None) -> bytes:
    """Tells a listener that events between two positions were left out: `count` of all kinds, None if unknown."""
    return messages.message({"after": missed.after, "before": missed.before, "count": count}, "left-out")


def store_notice(problem: str) -> bytes:
    """Tells listeners that the store is away, or, with an empty problem, that it is back."""
    return messages.message({"away": bool(problem), "problem": problem}, "store")
