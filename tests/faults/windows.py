"""Orders to die: a file named after a moment. The first worker that reaches the moment takes the file and kills itself.

Nothing of this is in the product: a worker is given a store that looks for orders.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.lowlevel

from holdfast.broker.redis import RedisStore
from holdfast.core.deliveries import Hint, Pulled, Settlement
from holdfast_config import RedisSettings

ORDERS = "FAULTS_ORDERS"

BELL = "bell"  # the bell was popped
BEFORE_PULL = "before-pull"
PULL_SENT = "pull-sent"  # in the socket, nobody will read the answer
PULLED = "pulled"  # answered with claims, no handler started
HANDLER = "handler"
AFTER_HANDLER = "after-handler"  # the handler has returned, nothing was reported
SETTLE_SENT = "settle-sent"  # executed, the answer not taken
SETTLED = "settled"
DRAIN = "drain"  # about to report while it claims nothing any more


def take(window: str) -> bool:
    """Whether there was an order for this moment; it is gone now."""
    try:
        (Path(os.environ[ORDERS]) / window).unlink()
    except FileNotFoundError:
        return False
    return True


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_if_ordered(window: str) -> None:
    if take(window):
        die()


class DyingStore(RedisStore):
    """The real store; it kills its process where an order says so."""

    _rung = False

    async def listen(self, incarnation: str, lanes: Sequence[str], timeout: float) -> Hint | None:
        hint = await super().listen(incarnation, lanes, timeout)
        self._rung = hint is not None and hint.kind == "bell"
        if self._rung:
            die_if_ordered(BELL)
        return hint

    async def pull(
        self, incarnation: str, request: int, slots: int, lanes: Sequence[str], settlements: Sequence[Settlement]
    ) -> Pulled:
        if self._rung and slots:
            die_if_ordered(BEFORE_PULL)
            if take(PULL_SENT):
                self._run = self._send_only
        if settlements:
            die_if_ordered(AFTER_HANDLER)
            if not slots:
                die_if_ordered(DRAIN)
        pulled = await super().pull(incarnation, request, slots, lanes, settlements)
        if pulled.deliveries:
            die_if_ordered(PULLED)
        if settlements:
            die_if_ordered(SETTLE_SENT)
            if take(SETTLED):
                asyncio.get_running_loop().call_soon(die)  # when the worker has taken the answer in
        return pulled

    async def _send_only(self, name: str, *args: Any) -> Any:
        """The command reaches the server's socket; this process does not live to read the answer."""
        script = self._connection._scripts[name]
        connection = await self._connection.client.connection_pool.get_connection()
        await connection.send_command("EVALSHA", script.sha, 1, self._keys.queue, *args)
        for _ in range(3):  # the loop writes what was sent at the end of its turn
            await anyio.lowlevel.checkpoint()
        die()


@asynccontextmanager
async def open_dying_store(settings: RedisSettings) -> AsyncGenerator[DyingStore, None]:
    store = DyingStore(settings)
    try:
        yield store
    finally:
        await store.aclose()
