"""Changes of many tasks as documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from holdfast.core.bulk_changes import BulkChange, BulkState, BulkVerb
from holdfastd.documents.times import Moment, moment


class BulkDocument(TypedDict):
    """A change of many tasks. `filter`: as the address of the page of tasks has it, empty for all tasks; `changed`:
    tasks so far, of the `searched` ones; `refused`: those that it could not change; `moved`: only those that were
    found and had left the filter when their turn came; `pass_number`: it looks again, until a pass changes nothing;
    `told`: when it last said how far it is."""

    change_id: str
    verb: BulkVerb
    filter: str
    state: BulkState
    changed: int
    refused: int
    moved: int
    searched: int
    pass_number: int
    reason: str | None
    who: str
    origin: str
    begun: Moment | None
    told: Moment | None


def bulk_document(change: BulkChange, now_ms: int, shown: Callable[[str], str] = str) -> BulkDocument:
    """`now_ms`: the store's time; a change that has not told anything for some seconds is interrupted. `shown` gives a
    filter without what the reader may not see."""
    return {
        "change_id": change.change_id,
        "verb": change.verb,
        "filter": shown(change.query),
        "state": change.state_at(now_ms),
        "changed": change.changed,
        "refused": change.refused,
        "moved": change.moved,
        "searched": change.searched,
        "pass_number": change.pass_number,
        "reason": change.reason or None,
        "who": change.who,
        "origin": change.origin,
        "begun": moment(change.begun_ms),
        "told": moment(change.told_ms),
    }
