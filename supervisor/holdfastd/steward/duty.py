"""A duty: one small loop of the steward, which runs as long as the process lives.

A store that cannot be reached does not end a duty: the trouble is reported in `status`, and the duty retries. A bug in
one duty does not stop the others: it is logged and the duty is tried again.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

import anyio
import structlog

from holdfast.core.settle import RetryPolicy, back_off
from holdfast.errors import ConnectionLimitError, LedgerUnavailableError, StoreRefusedError, StoreUnavailableError

# Health records which duties of the steward fail, for one line in `status`.

_log = structlog.get_logger("holdfast.steward")


class Health:
    """`outages` counts calls that did not reach the store; ClockWatch compares it."""

    def __init__(self) -> None:
        self.outages = 0
        self._troubles: dict[str, str] = {}

    @property
    def degraded(self) -> str:
        """The oldest trouble that persists, or empty."""
        return next(iter(self._troubles.values()), "")

    def clear(self, duty: str) -> None:
        if self._troubles.pop(duty, None) and not self._troubles:
            _log.info("steward is no longer degraded", duty=duty)

    def report(self, duty: str, trouble: str) -> None:
        """Record why a duty fails; logged if no duty has this trouble yet."""
        if trouble not in self._troubles.values():
            _log.warning("steward is degraded", duty=duty, reason=trouble)
        self._troubles[duty] = trouble

    def set(self, duty: str, trouble: str) -> None:
        """Record the present trouble, or that there is none if it is empty."""
        if trouble:
            self.report(duty, trouble)
        else:
            self.clear(duty)


_PAUSES = RetryPolicy(0, 0.05, 1.0)


def pause(failures: int) -> float:
    """Seconds until the next try, after so many that failed in a row."""
    return back_off(_PAUSES, failures, random.random())


@dataclass(frozen=True, slots=True)
class Duty:
    """`run_once` does one round and answers the seconds until the next one; `wait` waits that long, or less if
    something happens."""

    name: str
    run_once: Callable[[], Awaitable[float]]
    wait: Callable[[float], Awaitable[object]] = anyio.sleep


async def run_duty(duty: Duty, health: Health) -> None:
    """Run the duty's rounds for ever."""
    failures = 0
    while True:
        try:
            seconds = await duty.run_once()
            health.clear(duty.name)
            await duty.wait(seconds)
            failures = 0
        except Exception as error:
            failures += 1
            _note(duty.name, _first(error), health)
            await anyio.sleep(pause(failures))


def _note(name: str, error: BaseException, health: Health) -> None:
    match error:
        case LedgerUnavailableError() | ConnectionLimitError() | StoreRefusedError():
            pass  # Redis answers, and it keeps the leases
        case StoreUnavailableError():
            health.outages += 1
        case _:
            _log.error("a duty of the steward failed; it is tried again", duty=name, exc_info=error)
    health.report(name, str(error) or type(error).__name__)


def _first(error: BaseException) -> BaseException:
    """The first error of a duty that does several things at once."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseException", error.exceptions[0])
    return error


# A wait that ends on time: an idle server ends a blocking call up to 0.1 s late, so the last part is slept here.

GRAIN = 0.15  # seconds; a server looks after its blocked clients ten times a second (hz 10)

Listen = Callable[[float], Awaitable[object]]


def punctual(listen: Listen) -> Listen:
    """A function that waits like `listen`, which ends early when something happens, but ends on time."""

    async def wait(seconds: float) -> None:
        if seconds > GRAIN:
            await listen(seconds - GRAIN)
        else:
            await anyio.sleep(seconds)

    return wait
