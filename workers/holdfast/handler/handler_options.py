"""The options of a named handler, given when it is registered."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.client.arguments import check_attempts, check_lane, check_seconds
from holdfast.core.plain_json import shown
from holdfast.errors import HandlerError, InvalidTaskError

MOST_AT_ONCE = 1_000
MAIN = "main"


@dataclass(frozen=True, slots=True)
class HandlerOptions:
    """None: as the worker's settings say. `timeout` in seconds bounds one run; `concurrency` is how many run at once in
    one worker; `lane` is where producers that share the registry queue its tasks. `thread`: "main" for a plain function
    that needs the main thread of its process, as one that uses signals."""

    max_attempts: int | None = None
    timeout: float | None = None
    concurrency: int | None = None
    lane: str | None = None
    thread: str | None = None

    @property
    def places(self) -> int | None:
        """How many run at once in one worker; None: as many as fit."""
        return 1 if self.in_main_thread else self.concurrency

    @property
    def in_main_thread(self) -> bool:
        return self.thread == MAIN

    def check(self, what: str) -> None:
        """Raise HandlerError, naming the handler as `what`, for values that are not allowed."""
        try:
            check_attempts(self.max_attempts)
            if self.timeout is not None:
                check_seconds("timeout", self.timeout, positive=True)
            if self.lane is not None:
                check_lane(self.lane)
        except InvalidTaskError as error:
            raise HandlerError(f"{what}: {error}") from None
        if self.thread not in (None, MAIN):
            raise HandlerError(f"{what}: thread {shown(self.thread)}: {MAIN!r} is allowed, or None for any thread")
        most = self.concurrency
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_AT_ONCE):
            raise HandlerError(f"{what}: concurrency {shown(most)}: a whole number from 1 to {MOST_AT_ONCE} is allowed")
