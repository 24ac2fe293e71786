"""Limits how many webhook notices are under way at once, in all and to each receiver, so that slow receivers do not
delay the others.

A receiver is a host and port. For all receivers together there are AT_ONCE places, and each notice under way takes one.
A receiver is prompt if it answered its last notice within PROMPT seconds. A new, slow or failing receiver is unproven.
All unproven receivers together get at most UNPROVEN_AT_ONCE places. One unproven receiver gets at most UNPROVEN_SHARE
places, a prompt one at most SHARE. `webhooks_take.lua` applies these limits when it picks notices that are due.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from holdfast.core.webhook_notice import Answered, Notice, Room, SpoiltNotice
from holdfast.store import Store

AT_ONCE = 100  # notices under way
UNPROVEN_AT_ONCE = 75  # notices under way to unproven receivers
SHARE = 10  # notices under way to one prompt receiver
UNPROVEN_SHARE = 2  # notices under way to one unproven receiver
PROMPT = 2.0  # seconds within which a prompt receiver answers
TOLD_EVERY = 60.0  # seconds after which the steward tells the store again that a receiver is prompt
MOST_KNOWN = 1000  # prompt receivers that this process remembers


@dataclass(slots=True)
class ReceiverPlace:
    """The places that one notice occupies. `held`: the receivers of its posts that have not ended. `is_unproven`: one
    of its receivers is unproven."""

    held: list[str]
    is_unproven: bool


@dataclass(slots=True)
class Receivers:
    """The places of all notices under way, and the prompt receivers. `number`: how many notices are under way. `ended`:
    an event for the next end of a notice or post; after each such end a new event replaces it."""

    store: Store
    clock: Callable[[], float] = time.monotonic
    number: int = 0
    ended: anyio.Event = field(default_factory=anyio.Event)
    _unproven: int = 0
    _busy: Counter[str] = field(default_factory=Counter[str])
    _prompt: dict[str, float] = field(default_factory=dict[str, float])  # receiver: when the store was told of it

    @property
    def room(self) -> Room:
        return Room(UNPROVEN_AT_ONCE - self._unproven, SHARE, UNPROVEN_SHARE, self._busy)

    def begin(self, notice: Notice | SpoiltNotice) -> ReceiverPlace:
        self.number += 1
        self._unproven += not notice.is_prompt
        self._busy[notice.receiver] += 1
        return ReceiverPlace([notice.receiver], not notice.is_prompt)

    def end(self, place: ReceiverPlace) -> None:
        self.number -= 1
        self._unproven -= place.is_unproven
        for receiver in tuple(place.held):
            self._leave(place, receiver)
        self._tell_end()

    def add(self, place: ReceiverPlace, receivers: Iterable[str]) -> bool:
        """Give a notice one place at each of these further receivers. If one of the receivers has no free place, the
        notice gets no place, and the answer is False."""
        others = list(receivers)
        is_unproven = any(each not in self._prompt for each in others)
        if any(self._busy[each] >= self._share(each) for each in others):
            return False
        if is_unproven and not place.is_unproven:
            if self._unproven >= UNPROVEN_AT_ONCE:
                return False
            self._unproven += 1
            place.is_unproven = True
        place.held += others
        self._busy.update(others)
        return True

    @contextmanager
    def post(self, place: ReceiverPlace, receiver: str) -> Generator[None]:
        """A context manager around one post of a notice. At its end the receiver's place is free again."""
        try:
            yield
        finally:
            self._leave(place, receiver)
            self._tell_end()

    async def note(self, receiver: str, seconds: float | None) -> None:
        """Record how many seconds a receiver took to accept a notice; None: the receiver did not accept the notice."""
        if seconds is None or seconds > PROMPT:
            self._prompt.pop(receiver, None)
            return await self.store.note_receiver(receiver, Answered.MISSED if seconds is None else Answered.SLOW)
        now = self.clock()
        if now - self._prompt.get(receiver, -TOLD_EVERY) < TOLD_EVERY:
            return None
        while len(self._prompt) >= MOST_KNOWN:
            del self._prompt[next(iter(self._prompt))]
        self._prompt[receiver] = now
        return await self.store.note_receiver(receiver, Answered.PROMPT)

    def _share(self, receiver: str) -> int:
        return SHARE if receiver in self._prompt else UNPROVEN_SHARE

    def _leave(self, place: ReceiverPlace, receiver: str) -> None:
        if receiver not in place.held:
            return
        place.held.remove(receiver)
        self._busy[receiver] -= 1
        if not self._busy[receiver]:
            del self._busy[receiver]

    def _tell_end(self) -> None:
        self.ended.set()
        self.ended = anyio.Event()
