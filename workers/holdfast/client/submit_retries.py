"""The one retry loop around a producer's calls: they are idempotent, so a call whose answer was lost is made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import ParamSpec, Self, TypeVar

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_after_delay
from tenacity.wait import wait_random_exponential

from holdfast.errors import StoreUnavailableError
from holdfast_config.submit_settings import SubmitSettings

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubmitRetries(SubmitSettings):
    """The limits within which a producer repeats a call while the store cannot be reached. Times in seconds."""

    @classmethod
    def of(cls, settings: SubmitSettings) -> Self:
        """The retries that the settings name."""
        return cls(**asdict(settings))

    def pausing(self, error: BaseException) -> None:
        """Called once in each call, before the first pause, with the error."""

    async def call(self, operation: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of `operation`; raises its last StoreUnavailableError."""
        over = stop_after_delay(self.seconds)
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(StoreUnavailableError),
            stop=over if self.attempts is None else stop_after_attempt(self.attempts) | over,
            wait=self._wait,
            before_sleep=self._tell,
            sleep=anyio.sleep,
            reraise=True,
        )

        async def attempt() -> T:  # tenacity awaits only async functions, which a lambda is not
            return await operation(*args, **kwargs)

        return await retrying(attempt)

    def _wait(self, state: RetryCallState) -> float:
        """The next pause: doubled with each attempt, but never past the end, when the last attempt is made."""
        pause = wait_random_exponential(multiplier=self.first_wait, max=self.longest_wait)(state)
        return min(pause, max(0.0, self.seconds - (state.seconds_since_start or 0.0)))

    def _tell(self, state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome and (error := state.outcome.exception()):
            self.pausing(error)
