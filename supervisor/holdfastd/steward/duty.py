"""A duty: one small loop of the steward. It runs as long as the steward's process lives.

If the store cannot be reached, a duty retries, and `status` shows the trouble. A bug in one duty does not stop the
others: the error is logged, and the duty is tried again.
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

# Health records which duties of the steward fail. `status` shows the oldest trouble in one line.

_log = structlog.get_logger("holdfast.steward")


class Health:
    """The present troubles of the duties. `outages`: how many calls did not reach the store, for ClockWatch."""

    def __init__(self) -> None:
        self.outages = 0
        self._troubles: dict[str, str] = {}

    @property
    def degraded(self) -> str:
        """The oldest trouble that still persists; empty if all duties work."""
        return next(iter(self._troubles.values()), "")

    def clear(self, duty: str) -> None:
        if self._troubles.pop(duty, None) and not self._troubles:
            _log.info("steward is no longer degraded", duty=duty)

    def report(self, duty: str, trouble: str) -> None:
        """Record why a duty fails. The reason is logged, unless a duty has the same trouble already."""
        if trouble not in self._troubles.values():
            _log.warning("steward is degraded", duty=duty, reason=trouble)
        self._troubles[duty] = trouble

    def set(self, duty: str, trouble: str) -> None:
        """Record the duty's present trouble; an empty text means that the duty has none."""
        if trouble:
            self.report(duty, trouble)
        else:
            self.clear(duty)


_PAUSES = RetryPolicy(0, 0.05, 1.0)


def pause(failures: int) -> float:
    """Seconds until the next try, after this number of failures in a row."""
    return back_off(_PAUSES, failures, random.random())


@dataclass(frozen=True, slots=True)
class Duty:
    """One duty. `run_once` does one round and returns the seconds until the next one. `wait` waits for these seconds,
    or until something happens that needs an earlier round."""

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
            pass  # no outage of Redis: it answers, and it keeps the leases
        case StoreUnavailableError():
            health.outages += 1
        case _:
            _log.error("a duty of the steward failed; it is tried again", duty=name, exc_info=error)
    health.report(name, str(error) or type(error).__name__)


def _first(error: BaseException) -> BaseException:
    """The first error in an exception group, which a duty with concurrent parts may raise. Any other error is returned
    unchanged."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseException", error.exceptions[0])
    return error


# A wait that ends on time. An idle server ends a blocking call up to 0.1 s late, so this process sleeps the last part.

GRAIN = 0.15  # seconds; a server checks its blocked clients ten times a second (hz 10)

Listen = Callable[[float], Awaitable[object]]


def punctual(listen: Listen) -> Listen:
    """Return a wait that ends on time. `listen` may end early, and up to GRAIN late. So a wait longer than GRAIN
    listens for GRAIN seconds less than it was asked to. A shorter wait sleeps and does not listen."""

    async def wait(seconds: float) -> None:
        if seconds > GRAIN:
            await listen(seconds - GRAIN)
        else:
            await anyio.sleep(seconds)

    return wait
