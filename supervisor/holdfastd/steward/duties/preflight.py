"""Checks that the store is reachable and fit for the promise: before the first worker, and regularly after that.

At the first start of a parent the result decides if the service starts. A store that becomes unfit later (because it
evicts keys, say) is shown as degraded and ends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from holdfast.errors import StoreError, StoreFullError, StoreUnavailableError
from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed
from holdfast_config import Settings
from holdfastd.steward.duty import RETRY_WAIT, Duty

if TYPE_CHECKING:
    from holdfast.store import Store

EVERY = 30.0  # seconds
REMOTE_TIMEOUT = 9.0  # seconds: the service answers within 10
# Share of the boot timeout: the embedded store may have a long AOF to load, and the parent watches it.
EMBEDDED_TIMEOUT_SHARE = 0.9

_PASSING = retry_if_exception_type((StoreUnavailableError, StoreFullError))


def preflight_duty(store: Store, lanes: Sequence[str]) -> Duty:
    async def run_once() -> float:
        await store.preflight(lanes)
        return EVERY

    return Duty("preflight", run_once)


async def preflight(store: Store, settings: Settings) -> BootFailed | None:
    """Wait a limited time until the store is fit; None if it is."""
    trouble = f"Redis at {settings.redis.masked_url} does not answer"

    def note(state: RetryCallState) -> None:
        nonlocal trouble
        if state.outcome is not None:
            trouble = str(state.outcome.exception()) or trouble

    retrying = AsyncRetrying(sleep=anyio.sleep, wait=RETRY_WAIT, retry=_PASSING, before_sleep=note)
    with anyio.move_on_after(_timeout(settings)):
        try:
            await retrying(store.preflight, settings.lane_names)
        except StoreError as error:
            return BootFailed(ChildExit.BOOT_FAILED, str(error))
        return None
    return BootFailed(ChildExit.UNAVAILABLE, f"{trouble}; {_advice(settings)}")


def _advice(settings: Settings) -> str:
    if settings.embedded:
        return f"see {settings.state_dir / 'store' / 'server.log'}"
    return f"is it running, and is {'the URL' if settings.postgres else 'REDIS_URL'} right?"


def _timeout(settings: Settings) -> float:
    return settings.boot_timeout * EMBEDDED_TIMEOUT_SHARE if settings.embedded else REMOTE_TIMEOUT
