"""A change that a user asks for, from the request to its entry in Activity.

    async with noted(AskedChange(who, origin, keep, "tasks/cancel", task_id)) as asked:
        …  # all that may refuse it

All changes of all faces pass here, so a refusal is noted, whoever refuses.
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
    """A change as Activity will show it. Its function may set the subject and the outcome. `keep` stores it. `refusal`:
    why it was not carried out, or not wholly. `lost`: why it is no change of this queue, so that it is not kept."""

    who: str
    origin: str
    keep: Callable[[Activity], Awaitable[None]]
    change: str
    subject: str = ""
    related: str = ""
    outcome: str = ""
    refusal: str = ""
    lost: str = ""
    _is_written: bool = False

    async def write(self) -> None:
        """Note it now, because the answer comes much later. Later events are no part of the change."""
        activity = Activity(self.who, self.origin, self.change, self.subject, self.outcome, self.related)
        if self.change and not self.lost and not self._is_written:
            self._is_written = True
            await self.keep(activity.refused(self.refusal) if self.refusal else activity)


def why(error: BaseException) -> str:
    """The message of an error of the queue; for any other error, a text that says it is Holdfast's own fault."""
    return str(error) if isinstance(error, HoldfastError) else INTERNAL


@asynccontextmanager
async def noted(
    asked: AskedChange, why: Callable[[Exception], str] = why, unasked: tuple[type[Exception], ...] = ()
) -> AsyncGenerator[AskedChange]:
    """Note the change when it was carried out or refused. An act without a name only reads, and is not noted.

    `why` makes the text of a refusal. Errors of the kinds `unasked` mean that the request was incomplete, so nothing
    was asked for.
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
