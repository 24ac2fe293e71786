"""The places for posts of webhooks, and how their receivers have answered: many posts to one receiver, or to receivers
that do not answer, keep no other waiting.

A receiver is a host and port. It becomes prompt when it takes a notice within PROMPT seconds, until it is slow or
misses one. All others (new, slow or failing ones) share UNPROVEN_AT_ONCE of the places, a few each. The rest of the
places is reserved for prompt receivers. The store orders the receivers (`webhooks_take.lua`).
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
UNPROVEN_AT_ONCE = 75  # of them to receivers that are not known to answer promptly
SHARE = 10  # under way to one receiver
UNPROVEN_SHARE = 2  # to one that is not known to answer promptly
PROMPT = 2.0  # seconds
TOLD_EVERY = 60.0  # seconds after which the store is told again that a receiver is prompt
MOST_KNOWN = 1000  # prompt receivers


@dataclass(slots=True)
class ReceiverPlace:
    """The place of one notice. `held`: its receivers, one for each post that has not ended."""

    held: list[str]
    is_unproven: bool


@dataclass(slots=True)
class Receivers:
    """`number`: the notices under way; `ended` is set, and made anew, when a notice or one of its posts ends."""

    store: Store
    clock: Callable[[], float] = time.monotonic
    number: int = 0
    ended: anyio.Event = field(default_factory=anyio.Event)
    _unproven: int = 0
    _busy: Counter[str] = field(default_factory=Counter[str])
    _prompt: dict[str, float] = field(default_factory=dict[str, float])  # to when the store was told so

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
        """Give a notice places at further receivers. False if one of them has none: nothing was given."""
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
        """One post of a notice; at its end the receiver's place is free again."""
        try:
            yield
        finally:
            self._leave(place, receiver)
            self._tell_end()

    async def note(self, receiver: str, seconds: float | None) -> None:
        """Note that a receiver took a notice after this time; None: it missed it."""
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
