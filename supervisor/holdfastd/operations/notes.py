"""A change that a user asks for, from the request to its entry in Activity.

    async with noted(AskedChange(who, origin, keep, "tasks/cancel", task_id)) as asked:
        …  # everything that may refuse the change

Every change goes through here, whether it is asked for by a command, a page, the API or the agent. So Activity shows
refused changes, too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from holdfast.core.activity import Activity
from holdfast.core.words import counted
from holdfast.errors import HoldfastError, StoreError

INTERNAL = "internal error: the log of the web process says more"
UNLISTED = "the change is made, but not listed in Activity"
WITHIN = 3.0  # seconds in which the store must take an entry: a user waits, who may have interrupted the act


@dataclass(slots=True)
class AskedChange:
    """A change as Activity will show it. The act's function may set the subject and the outcome. `keep` stores the
    entry. `refusal`: why the change was not carried out, or only in part. `done`: the number of items that an act in
    steps has changed so far. `hint`: a line for the user about a name that nobody knows. `lost`: why Activity has no
    entry: the store did not take it, or the change does not concern this queue."""

    who: str
    origin: str
    keep: Callable[[Activity], Awaitable[None]]
    change: str
    subject: str = ""
    related: str = ""
    outcome: str = ""
    refusal: str = ""
    done: int = 0
    hint: str = ""
    lost: str = ""
    _is_written: bool = False

    async def write(self) -> None:
        """Write the entry to Activity now, once, even if the act is being interrupted. A function calls this if its
        answer comes much later. An error of the store stays in `lost`: the change was made or refused before."""
        activity = Activity(self.who, self.origin, self.change, self.subject, self.outcome, self.related)
        if not self.change or self.lost or self._is_written:
            return
        self._is_written = True
        try:
            with anyio.fail_after(WITHIN, shield=True):
                await self.keep(activity.refused(self.refusal) if self.refusal else activity)
        except TimeoutError:
            self.lost = f"the store has not taken the entry within {WITHIN:g} s"
        except StoreError as error:
            self.lost = str(error)

    def end(self, why: str) -> None:
        """Record that the act ended early, and how much of it was done until then."""
        self.refusal = f"{why} (after {counted(self.done, 'item')})" if self.done else why

    @property
    def warning(self) -> str:
        """The line that each face shows beside the answer: the hint, or that something was changed and Activity has no
        entry of it; else empty."""
        if not self.lost or (self.refusal and not self.done):
            return self.hint
        return f"{'a part of ' if self.refusal else ''}{UNLISTED}: {self.lost}"


def why(error: BaseException) -> str:
    """The message of an error, if Holdfast raises it on purpose. For any other error, a text that calls it Holdfast's
    own fault."""
    return str(error) if isinstance(error, HoldfastError) else INTERNAL


@asynccontextmanager
async def noted(
    asked: AskedChange, why: Callable[[Exception], str] = why, unasked: tuple[type[Exception], ...] = ()
) -> AsyncGenerator[AskedChange]:
    """Write the change to Activity when it was carried out, refused or interrupted. An act without a name only reads:
    no entry.

    `why` makes the text of a refusal. Errors of the kinds `unasked` mean that the request was incomplete: no entry.
    """
    try:
        yield asked
    except unasked:
        raise
    except Exception as error:
        asked.end(why(error))
        await asked.write()
        raise
    except anyio.get_cancelled_exc_class():
        asked.end("interrupted")
        await asked.write()
        raise
    await asked.write()
