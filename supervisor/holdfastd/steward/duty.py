"""A duty: one small loop of the steward, which runs as long as the process lives.

A store that cannot be reached does not end a duty: the trouble is reported in `status`, and the duty retries. A bug in
one duty does not stop the others: it is logged and the duty is tried again.
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

RETRY_WAIT = wait_exponential(multiplier=0.05, max=1.0) + wait_random(0, 0.05)  # seconds between tries

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class Duty:
    """`run_once` does one round and answers the seconds until the next one; `wait` waits that long, or less if
    something happens."""

    name: str
    run_once: Callable[[], Awaitable[float]]
    wait: Callable[[float], Awaitable[object]] = anyio.sleep


async def run_duty(duty: Duty, health: Health) -> None:
    """Run the duty's rounds for ever."""

    async def round_() -> None:
        seconds = await duty.run_once()
        health.clear(duty.name)
        await duty.wait(seconds)

    def note(state: RetryCallState) -> None:
        _note(duty.name, state.outcome.exception() if state.outcome else None, health)

    retrying = AsyncRetrying(sleep=anyio.sleep, wait=RETRY_WAIT, before_sleep=note)
    while True:
        try:
            await round_()
        except Exception as error:
            failed = [error]

            async def again(failed: list[Exception] = failed) -> None:
                if failed:  # the round that was made above: most need no loop
                    raise failed.pop()
                await round_()

            await retrying(again)


def _note(name: str, error: BaseException | None, health: Health) -> None:
    error = _first(error)
    trouble = str(error) or type(error).__name__
    match error:
        case LedgerUnavailableError() | ConnectionLimitError():  # these say nothing about Redis, which keeps the leases
            health.report(name, trouble)
        case StoreUnavailableError():
            health.report_unreachable(name, trouble)
        case StoreRefusedError():
            health.report(name, trouble)
        case _:
            _log.error("a duty of the steward failed; it is tried again", duty=name, exc_info=error)
            health.report(name, trouble)


def _first(error: BaseException | None) -> BaseException | None:
    """The first error of a duty that does several things at once."""
    match error:
        case BaseExceptionGroup(exceptions=(first, *_)):
            return _first(cast("BaseException", first))
        case _:
            return error
