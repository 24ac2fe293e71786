"""Follows the parts that a task emits, by the store's notices: those that are kept, then the new ones, to its end.

Each notice leads to one read of all parts behind the last one that was read, so a lost notice costs a moment and no
part, and a reader that is slow has the parts that are kept, in few reads. After a while without a notice the
subscription is made anew and the store is read again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from holdfast.client.wait import QUIET, SETTLED, next_notice, subscription
from holdfast.core.emitted_parts import EmittedPart, PartsPage
from holdfast.errors import StoreUnavailableError

Notices = Callable[[], AsyncIterator[str]]
Read = Callable[[int], Awaitable[PartsPage]]


async def parts(notices: Notices, read: Read, after: int, quiet: float = QUIET) -> AsyncGenerator[EmittedPart]:
    """The parts of a task behind a position, until it has ended or asks for input. `read(position)` retries while the
    store is away, and raises for an unknown task."""
    position, is_over = after, False
    while not is_over:
        try:
            async with subscription(notices()) as told:
                while not is_over and await next_notice(told, quiet) is not None:
                    is_whole = False
                    while not is_whole:
                        page = await read(position)
                        for part in page.parts:
                            yield part
                        is_whole, is_over = page.is_whole, page.state in SETTLED
                        # A store that has lost parts goes on from an earlier position.
                        position = page.parts[-1].position if page.parts else min(position, page.last)
        except StoreUnavailableError:
            await read(position)  # the subscription broke; this retries until the store is back, or gives up
