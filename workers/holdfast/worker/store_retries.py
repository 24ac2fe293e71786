"""Retries a worker's idempotent calls until the store answers, however long that takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_random

from holdfast.errors import StoreError, StoreUnavailableError

T = TypeVar("T")

FIRST_WAIT = 0.02  # seconds
WAIT = wait_exponential(multiplier=0.02, max=1.0) + wait_random(0, 0.05)  # seconds between tries

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class StoreRetries:
    """`degraded` says why the store cannot be used, by the call that found out; empty when all is well. `is_cut`: a
    connection has ended since the last pull, and the store may be another one, or an earlier moment of it."""

    is_cut: bool = False

    _failing: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def degraded(self) -> str:
        return next(iter(self._failing.values()), "")

    async def call(self, what: str, operation: Callable[[], Awaitable[T]]) -> T:
        """The answer of `operation`, however long it takes. Every StoreError is waited out: even a refusal (a user's
        rights changed, a disk full) is mended at the store, and a result in hand must not be dropped for it."""

        try:
            return await operation()
        except StoreError as error:
            self._note(what, error)
        answer = await self._retry(what, operation)
        self._failing.pop(what, None)  # several may have made the same call
        _log.info("the store answers again", call=what)
        return answer

    async def _retry(self, what: str, operation: Callable[[], Awaitable[T]]) -> T:
        def note(state: RetryCallState) -> None:
            self._note(what, state.outcome.exception() if state.outcome else None)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(StoreError), wait=WAIT, sleep=anyio.sleep, before_sleep=note, reraise=True
        )

        async def attempt() -> T:  # tenacity awaits only what is declared async, which a lambda is not
            return await operation()

        await anyio.sleep(FIRST_WAIT)
        return await retrying(attempt)

    def _note(self, what: str, error: BaseException | None) -> None:
        if what not in self._failing:
            _log.warning("the store does not answer; waiting", call=what, error=str(error))
        self._failing[what] = str(error)
        self.is_cut = self.is_cut or isinstance(error, StoreUnavailableError)
