"""A change that somebody asks for, from the request to its place in Activity.

    async with noted(AskedChange(who, origin, keep, "tasks/cancel", task_id)) as asked:
        …  # all that may refuse it

Each change of each face passes here, so what is refused is written down, whoever refuses it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError

INTERNAL = "internal error: the log of the web process says more"


@dataclass(slots=True)
class AskedChange:
    """As Activity will have it. Whoever carries it out may set what was changed and what came of it. `keep` writes it
    down; `refusal`: why not all of it was carried out."""

    who: str
    origin: str
    keep: Callable[[Activity], Awaitable[None]]
    change: str
    subject: str = ""
    related: str = ""
    outcome: str = ""
    refusal: str = ""
    _is_written: bool = False

    async def write(self) -> None:
        """Write it down now, as the answer comes much later. What happens afterwards is no part of the change."""
        activity = Activity(self.who, self.origin, self.change, self.subject, self.outcome, self.related)
        if self.change and not self._is_written:
            self._is_written = True
            await self.keep(activity.refused(self.refusal) if self.refusal else activity)


def why(error: BaseException) -> str:
    """An error of the queue in its own words; any other is a fault of ours."""
    return str(error) if isinstance(error, HoldfastError) else INTERNAL


@asynccontextmanager
async def noted(
    asked: AskedChange, why: Callable[[Exception], str] = why, unasked: tuple[type[Exception], ...] = ()
) -> AsyncGenerator[AskedChange]:
    """Write the change down when it was carried out or refused. One without a name only reads: nothing is written.

    `why` words a refusal. Errors of the kinds `unasked` mean that the request has not come whole: nothing was asked
    for.
    """
    try:
        yield asked
    except unasked:
        raise
    except Exception as error:
        asked.refusal = why(error)
        await asked.write()
        raise
    await asked.write()
