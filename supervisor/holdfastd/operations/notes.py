"""A change that a user asks for, from the request to its entry in Activity.

    async with noted(AskedChange(who, origin, keep, "tasks/cancel", task_id)) as asked:
        …  # everything that may refuse the change

Every change of every face goes through here, so Activity shows refused changes, too.
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
    """A change as Activity will show it. The act's function may set the subject and the outcome. `keep` stores the
    entry. `refusal`: why the change was not carried out, or only in part. `lost`: why the change does not concern this
    queue; Activity then gets no entry."""

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
        """Write the entry to Activity now, once. A function calls this if its answer comes much later."""
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
    """Write the change to Activity when it was carried out or refused. An act without a name only reads: no entry.

    `why` makes the text of a refusal. Errors of the kinds `unasked` mean that the request was incomplete: no entry.
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
