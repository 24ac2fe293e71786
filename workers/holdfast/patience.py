"""The one retry loop around a producer's calls: they are idempotent, so one whose answer was lost is made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import ParamSpec, TypeVar

import anyio
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, stop_after_delay
from tenacity.wait import wait_random_exponential

from holdfast.errors import StoreUnavailableError
from holdfast_config.submit_settings import SubmitSettings

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience(SubmitSettings):
    """How long to believe that a store which cannot be reached will be back: both bounds count. Times in seconds."""

    @classmethod
    def of(cls, settings: SubmitSettings) -> Patience:
        """What the settings say."""
        return cls(**asdict(settings))

    async def call(self, operation: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of `operation`; raises its last StoreUnavailableError."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(StoreUnavailableError),
            stop=stop_after_attempt(self.attempts) | stop_after_delay(self.seconds),
            wait=wait_random_exponential(multiplier=self.first_wait, max=self.longest_wait),
            sleep=anyio.sleep,
            reraise=True,
        )

        async def attempt() -> T:  # tenacity awaits only what is declared async, which a lambda is not
            return await operation(*args, **kwargs)

        return await retrying(attempt)
