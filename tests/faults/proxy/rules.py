"""Rules: the fault that a request meets, and how a test hears of it. They are made and asked in the test's thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum, auto

from tests.faults.proxy.resp import Request

PATIENCE = 40.0  # seconds; reached only by a test that fails


class Action(StrEnum):
    WATCH = auto()  # nothing; but the rule tells when it has passed
    DROP = auto()  # it never arrives, and the connection stands
    CUT = auto()  # it is executed, then the connection is gone
    TRUNCATE = auto()  # half of the answer arrives, then the connection is gone
    HOLD = auto()  # it arrives when the rule is released, however late; so does its answer, if anybody still waits
    DELAY = auto()  # it is executed; its answer arrives when the rule is released, if anybody still waits
    DUPLICATE = auto()  # it arrives once more when it has been answered
    HALF_CLOSE_UP = auto()  # it arrives, and the end of the stream behind it
    HALF_CLOSE_DOWN = auto()  # it is executed; what arrives is the end of the stream, and the other way stays open
    BLACK_HOLE = auto()  # from it on nothing passes its connection either way, ends included, until released


class Rule:
    """The requests of this name that hold `about`, from the `nth` on, `times` of them, meet `action`."""

    def __init__(self, name: str, action: Action, nth: int = 1, times: int = 1, about: bytes = b"") -> None:
        self.name, self.action, self._about = name, action, about
        self._nth, self._until = nth, nth + times
        self._seen = 0
        self._met, self._struck, self._answered = threading.Event(), threading.Event(), threading.Event()
        self._answer = b""
        self._release: list[Callable[[], None]] = []
        self.released = False

    def meets(self, request: Request) -> bool:
        if self.name not in {request.name, request.name.removesuffix(" behind")} or self._about not in request.raw:
            return False
        self._seen += 1
        met = self._nth <= self._seen < self._until
        if met:
            self._met.set()
        return met

    def met(self) -> Rule:
        """Once the request has come by."""
        return self._wait(self._met, "met")

    def was_met(self, within: float) -> bool:
        """True if the request comes by within these seconds."""
        return self._met.wait(within)

    def wait(self) -> Rule:
        """Once the fault has happened."""
        return self._wait(self._struck, "struck")

    def answer(self) -> bytes:
        """The answer to the copy that came late, or the answer that the client did not get."""
        self._wait(self._answered, "answered")
        return self._answer

    def end(self) -> None:
        """No further request meets it."""
        self._until = 0

    def release(self) -> None:
        """Let go what it holds, and what it will yet meet."""
        self.released = True
        for release in self._release:
            release()

    def strike(self) -> None:
        self._struck.set()

    def holds(self, release: Callable[[], None]) -> None:
        """From now on `release` is called, from any thread, when the rule is released."""
        self._release.append(release)
        if self.released:
            release()

    def tell_answer(self, raw: bytes) -> None:
        self._answer = raw
        self._answered.set()

    def _wait(self, event: threading.Event, what: str) -> Rule:
        assert event.wait(PATIENCE), f"never {what}: {self.action} of {self.name}"
        return self
