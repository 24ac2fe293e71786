"""Waits until tasks have ended or ask for input, by the store's notices and not by polling.

The subscription stands before the first look, so an end between the two is seen by one of them. After a while without a
notice the subscription is made anew and all tasks are looked at again: a notice is a hint, and one that was lost with a
connection costs seconds, not the answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import anyio

from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import StoreUnavailableError
from holdfast.store.protocol import ProducerStore

SETTLED = TERMINAL | {State.INPUT_REQUIRED, State.AUTH_REQUIRED}
QUIET = 5.0  # seconds without a notice after which to look again
LOOKS_PER_SECOND = 200  # many tasks are looked at less often

Get = Callable[[str, bool], Awaitable[TaskRecord]]


async def outcomes(
    store: ProducerStore, get: Get, task_ids: Iterable[str], quiet: float = QUIET
) -> AsyncGenerator[TaskRecord, None]:
    """The record of each task once it has settled, in the order in which they do. `get(id, payloads)` retries while
    the store is away, and raises for an unknown task. After `quiet` seconds without a notice all are looked at again.
    """
    waiting = set(task_ids)
    while waiting:
        try:
            async with subscription(store.settled(list(waiting))) as notices:
                while (named := await next_notice(notices, quiet + len(waiting) / LOOKS_PER_SECOND)) is not None:
                    for task_id in waiting & {named} if named else sorted(waiting):
                        if (await get(task_id, False)).state in SETTLED:
                            waiting.discard(task_id)
                            yield await get(task_id, True)
                    if not waiting:
                        return
        except StoreUnavailableError:
            # The subscription broke. The next look retries until the store is back, or gives up.
            await get(next(iter(waiting)), False)


async def next_notice(notices: AsyncIterator[str], seconds: float) -> str | None:
    """The next notice, or None after a quiet time: `notices` cannot be used after that."""
    with anyio.move_on_after(seconds):
        return await anext(notices, None)
    return None


@asynccontextmanager
async def subscription(notices: AsyncIterator[str]) -> AsyncGenerator[AsyncIterator[str], None]:
    """These notices, whose subscription ends with the block."""
    try:
        yield notices
    finally:
        if isinstance(notices, AsyncGenerator):
            await notices.aclose()
