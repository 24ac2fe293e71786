"""The options of a named handler, given when it is registered."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.client.arguments import check_attempts, check_lane, check_seconds
from holdfast.core.plain_json import shown
from holdfast.errors import HandlerError, InvalidTaskError

MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class HandlerOptions:
    """None: as the worker's settings say. `timeout` in seconds bounds one run; `concurrency` is how many run at once in
    one worker; `lane` is where producers that share the registry queue its tasks."""

    max_attempts: int | None = None
    timeout: float | None = None
    concurrency: int | None = None
    lane: str | None = None

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
        most = self.concurrency
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_AT_ONCE):
            raise HandlerError(f"{what}: concurrency {shown(most)}: a whole number from 1 to {MOST_AT_ONCE} is allowed")
