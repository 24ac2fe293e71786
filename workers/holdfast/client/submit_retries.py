"""The retry loop around a producer's calls. The calls are idempotent, so a call whose answer was lost is made again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import ParamSpec, Self, TypeVar

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_after_delay
from tenacity.wait import wait_random_exponential

from holdfast.errors import StoreUnavailableError
from holdfast.store import Store
from holdfast_config.store_settings import SubmitSettings

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubmitRetries(SubmitSettings):
    """How long and how often a producer repeats a call while the store cannot be reached. Times are in seconds."""

    @classmethod
    def of(cls, settings: SubmitSettings) -> Self:
        """The limits for retries that these settings name."""
        return cls(**asdict(settings))

    def pausing(self, error: BaseException) -> None:
        """Hook for subclasses: `call` calls this method once, with the error, before its first pause."""

    async def call(self, operation: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `operation`, again and again while it raises StoreUnavailableError; returns its answer. When the limits
        are reached, raises the last StoreUnavailableError."""
        started = time.monotonic()
        try:
            return await operation(*args, **kwargs)
        except StoreUnavailableError as error:
            failed = [error]

        async def attempt() -> T:
            if failed:  # the attempt above counts as the first: most calls succeed there and need no loop
                raise failed.pop()
            return await operation(*args, **kwargs)

        return await self._retrying(max(0.0, self.seconds - (time.monotonic() - started)))(attempt)

    def _retrying(self, seconds: float) -> AsyncRetrying:
        """A loop of attempts within these limits."""
        over = stop_after_delay(seconds)
        exponential = wait_random_exponential(multiplier=self.first_wait, max=self.longest_wait)

        def wait(state: RetryCallState) -> float:
            """The next pause in seconds. The pause doubles with each attempt, but ends when the time for retries is
            over, so that one last attempt is made at that moment."""
            return min(exponential(state), max(0.0, seconds - (state.seconds_since_start or 0.0)))

        return AsyncRetrying(
            retry=retry_if_exception_type(StoreUnavailableError),
            stop=over if self.attempts is None else stop_after_attempt(self.attempts) | over,
            wait=wait,
            before_sleep=self._tell,
            sleep=anyio.sleep,
            reraise=True,
        )

    def _tell(self, state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome and (error := state.outcome.exception()):
            self.pausing(error)


class RepeatedCalls:
    """Base of the parts of TaskManager. `_call` calls the store, and repeats the call within the limits of
    `retries`."""

    def __init__(self, store: Store, queue: str, retries: SubmitRetries) -> None:
        self._store, self._queue, self._call = store, queue, retries.call
