"""A duty: one small loop of the steward, done in rounds for as long as the process lives.

A store that is away is no reason to end: the duty is marked as ailing, waits, and goes on. Nor is a bug in one duty a
reason for the others to stop, least of all for recovery: it is logged and tried again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

import anyio
import structlog
from tenacity import AsyncRetrying, RetryCallState, wait_exponential, wait_random

from holdfast.errors import ConnectionLimitError, LedgerUnavailableError, StoreRefusedError, StoreUnavailableError
from holdfastd.steward.health import Health

PATIENCE = wait_exponential(multiplier=0.05, max=1.0) + wait_random(0, 0.05)  # seconds between tries

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class Duty:
    """`turn` does one round and answers the seconds until the next; `rest` waits that long, or less if it has news."""

    name: str
    turn: Callable[[], Awaitable[float]]
    rest: Callable[[float], Awaitable[object]] = anyio.sleep


async def tend(duty: Duty, health: Health) -> None:
    """Do rounds for ever."""

    async def round_() -> None:
        seconds = await duty.turn()
        health.well(duty.name)
        await duty.rest(seconds)

    def note(state: RetryCallState) -> None:
        _note(duty.name, state.outcome.exception() if state.outcome else None, health)

    insist = AsyncRetrying(sleep=anyio.sleep, wait=PATIENCE, before_sleep=note)
    while True:
        await insist(round_)


def _note(name: str, error: BaseException | None, health: Health) -> None:
    error = _first(error)
    trouble = str(error) or type(error).__name__
    match error:
        case LedgerUnavailableError() | ConnectionLimitError():  # say nothing about Redis, where leases are kept
            health.ailing(name, trouble)
        case StoreUnavailableError():
            health.away(name, trouble)
        case StoreRefusedError():
            health.ailing(name, trouble)
        case _:
            _log.error("a duty of the steward failed; it is tried again", duty=name, exc_info=error)
            health.ailing(name, trouble)


def _first(error: BaseException | None) -> BaseException | None:
    """Of a duty that does several things at once, the first that failed."""
    match error:
        case BaseExceptionGroup(exceptions=(first, *_)):
            return _first(cast("BaseException", first))
        case _:
            return error
