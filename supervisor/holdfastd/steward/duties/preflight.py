"""Fitness: is the store reachable and still fit for the promise? Asked before the first worker, and now and then after.

At the first boot of a parent the answer decides whether the service starts. Later a store that became unfit (evicting,
say) is shown as degraded and ends nothing.
"""

from __future__ import annotations

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from holdfast.errors import StoreError, StoreFullError, StoreUnavailableError
from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed
from holdfast.store.protocol import Store
from holdfast_config import Settings
from holdfastd.steward.duty import PATIENCE, Duty

EVERY = 30.0  # seconds
REMOTE_PATIENCE = 9.0  # seconds: the service answers within 10
EMBEDDED_PATIENCE = 0.9  # of the boot timeout: our own store may have a long AOF to load, and the parent watches it

_PASSING = retry_if_exception_type((StoreUnavailableError, StoreFullError))


def fitness(store: Store) -> Duty:
    async def turn() -> float:
        await store.preflight()
        return EVERY

    return Duty("fitness", turn)


async def preflight(store: Store, settings: Settings) -> BootFailed | None:
    """Wait until the store is fit, but not for long; None if it is."""
    trouble = f"Redis at {settings.redis.masked_url} does not answer"

    def note(state: RetryCallState) -> None:
        nonlocal trouble
        if state.outcome is not None:
            trouble = str(state.outcome.exception()) or trouble

    insist = AsyncRetrying(sleep=anyio.sleep, wait=PATIENCE, retry=_PASSING, before_sleep=note)
    with anyio.move_on_after(_patience(settings)):
        try:
            await insist(store.preflight)
        except StoreError as error:
            return BootFailed(ChildExit.BOOT_FAILED, str(error))
        return None
    return BootFailed(ChildExit.UNAVAILABLE, f"{trouble}; {_advice(settings)}")


def _advice(settings: Settings) -> str:
    if settings.embedded:
        return f"see {settings.state_dir / 'store' / 'server.log'}"
    return f"is it running, and is {'the URL' if settings.postgres else 'REDIS_URL'} right?"


def _patience(settings: Settings) -> float:
    return settings.boot_timeout * EMBEDDED_PATIENCE if settings.embedded else REMOTE_PATIENCE
