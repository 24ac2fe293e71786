"""Acts on unreadable entries, which were set aside because they are no valid tasks."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.task_filter import Age, age_ms
from holdfast.core.lanes import Readmitted
from holdfastd.operations.act import Act, Doing, Purged
from holdfastd.operations.error_statuses import NotFoundError, NotPossibleError

STEP = 100  # entries that are deleted at once
KEPT = 1000  # entries that the store keeps at most

Address = Annotated[str, Meta(description="Address of the entry, as the list shows it.")]
SetAsideAgo = Annotated[Age, Meta(description="Only entries that were set aside at least this long ago: 90s, 5m, 7d.")]


class ChosenEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The entry to which the act applies."""

    address: Address


class RemoveAllUnreadable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The age of the entries to delete."""

    older: SetAsideAgo = None


class UnreadableAnswer(TypedDict):
    """`answer`: back (the entry is in its lane again) or removed."""

    address: str
    answer: str


async def retry_unreadable(doing: Doing, given: ChosenEntry) -> UnreadableAnswer:
    """Put an entry back into its lane, for workers that can now read it."""
    word = await doing.call(doing.store.readmit, given.address)
    if word == Readmitted.GONE:
        raise missing(given.address)
    if word == Readmitted.CUT:
        raise NotPossibleError(
            f"entry {given.address[:80]} cannot be put back: only its beginning was kept; push the whole entry again"
        )
    return {"address": given.address, "answer": word}


class NoChoice(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The act applies to all entries."""


class Readmission(TypedDict):
    """`back`: the number of entries that are in their lanes again. `cut`: the number of entries that stay, because only
    their beginning was kept."""

    back: int
    cut: int


async def retry_all_unreadable(doing: Doing, given: NoChoice) -> Readmission:
    """Put all entries back into their lanes, the oldest first."""
    words = list[Readmitted]()
    for each in reversed(await doing.call(doing.store.unreadable, KEPT)):
        words.append(await doing.call(doing.store.readmit, each.address))
        doing.step(len(words))
    back, cut = words.count(Readmitted.BACK), words.count(Readmitted.CUT)
    doing.asked.outcome = f"{back} put back" + (f", {cut} stay: only their beginning was kept" if cut else "")
    return {"back": back, "cut": cut}


async def remove_unreadable(doing: Doing, given: ChosenEntry) -> UnreadableAnswer:
    """Delete an entry that was set aside."""
    if not await doing.call(doing.store.forget_unreadable, given.address):
        raise missing(given.address)
    return {"address": given.address, "answer": "removed"}


async def remove_all_unreadable(doing: Doing, given: RemoveAllUnreadable) -> Purged:
    """Delete all entries that were set aside, or those of some age."""
    until_ms, purged = await doing.call(doing.store.clock_ms) - (age_ms("older", given.older) or 0), 0
    while step := await doing.call(doing.store.purge_unreadable, until_ms, STEP):
        purged += step
        doing.step(purged)
    doing.asked.outcome = f"{purged} removed"
    return {"purged": purged}


def missing(address: str) -> NotFoundError:
    return NotFoundError(f"entry {address[:80]} does not exist (any more)")


RETRY_UNREADABLE = Act("unreadable/retry", ChosenEntry, retry_unreadable, "address")
RETRY_ALL_UNREADABLE = Act("unreadable/retry-all", NoChoice, retry_all_unreadable)
REMOVE_UNREADABLE = Act("unreadable/remove", ChosenEntry, remove_unreadable, "address")
REMOVE_ALL_UNREADABLE = Act("unreadable/remove-all", RemoveAllUnreadable, remove_all_unreadable)
