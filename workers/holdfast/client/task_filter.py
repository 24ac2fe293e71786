"""The filter of tasks, for a list, a search, a count or a bulk change.

Each field is defined here, once: its name, its type, its bounds and its meaning. Other code makes these from it: the
options of commands, the query of a URL, the web forms, the requests of the HTTP API with their OpenAPI document, and
the arguments of the store (`core.tasks.Wanted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from holdfast.client.arguments import (
    Duration,
    check_batch_id,
    check_duration,
    check_error_kind,
    check_flag,
    check_lane,
    check_name,
    check_owner,
    check_seconds,
    check_states,
    check_text,
)
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast_config.durations import shortest

# `None` stands inside these annotations, so that the text `none` is read as the name of a lane or handler, and never as
# "no filter".
OfLane = Annotated[str | None, Meta(description="Only tasks of this lane.")]
OfHandler = Annotated[str | None, Meta(description="Only tasks of the handler with this name.")]
OfError = Annotated[
    str | None, Meta(description="Only tasks whose last failed run ended with this kind of error (its id).")
]
Age = float | Duration | None  # seconds, or a text
AGES = ("older", "newer")


class TaskFilter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filter of tasks. A task matches if it matches all fields that are given."""

    state: Annotated[list[State], Meta(description="Only tasks in these states.")] = []
    lane: OfLane = None
    name: OfHandler = None
    text: Annotated[
        str | None, Meta(description="Only tasks with this text in their id, name, reason, arguments, result or error.")
    ] = None
    batch: Annotated[str | None, Meta(description="Only tasks of this batch.")] = None
    owner: Annotated[str | None, Meta(description="Only tasks that this worker (its incarnation) runs.")] = None
    error: OfError = None
    older: Annotated[Age, Meta(description="Only tasks accepted at least this long ago: 90s, 5m, 7d.")] = None
    newer: Annotated[Age, Meta(description="Only tasks accepted at most this long ago: 90s, 5m, 7d.")] = None

    def wanted(self, *, newest_first: bool = False) -> Wanted:
        """The filter as the store takes it, without `text`, which is a separate argument of the store. Raises
        InvalidTaskError."""
        if self.text is not None:
            check_text(self.text)
        return Wanted(
            states=check_states(self.state),
            lane="" if self.lane is None else check_lane(self.lane),
            name="" if self.name is None else check_name(self.name),
            older_ms=age_ms("older", self.older),
            newer_ms=age_ms("newer", self.newer),
            batch="" if self.batch is None else check_batch_id(self.batch),
            owner="" if self.owner is None else check_owner(self.owner),
            error="" if self.error is None else check_error_kind(self.error),
            newest_first=newest_first,
        )

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The given fields as pairs of name and text for a form or a URL, with one pair for each state."""
        given = {name: getattr(self, name) for name in TaskFilter.__struct_fields__[1:]}
        ages = {name: shortest(check_duration(name, given[name])) for name in AGES if given[name] is not None}
        states = [("state", str(state)) for state in self.state]
        return [*states, *((name, text) for name, text in (given | ages).items() if text)]

    @property
    def query(self) -> str:
        """The query part of a URL with this filter."""
        return urlencode(self.texts)


class TaskListing(TaskFilter, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filter of a list, and its order."""

    newest_first: Annotated[bool, Meta(description="Within each state the last tasks first.")] = False


class WantedTasks(TypedDict, total=False):
    """The fields of TaskListing as keywords of `TaskManager.list_tasks`, for type checkers. Ages are seconds."""

    lane: str | None
    name: str | None
    batch: str | None
    owner: str | None
    error: str | None
    older_than: float | None
    newer_than: float | None
    newest_first: bool


def listing_of(
    states: Sequence[State | str],
    text: str | None = None,
    *,
    older_than: float | None = None,
    newer_than: float | None = None,
    **others: Any,
) -> TaskListing:
    """The filter made from the keywords of `TaskManager.list_tasks`. Raises InvalidTaskError, or TypeError for an
    unknown keyword."""
    for what, seconds in (("older_than", older_than), ("newer_than", newer_than)):
        if seconds is not None:
            check_seconds(what, seconds)
    given = TaskListing(state=[*check_states(states)], text=text, older=older_than, newer=newer_than, **others)
    check_flag("newest_first", given.newest_first)
    return given


def age_ms(what: str, age: Age) -> int | None:
    """The milliseconds of an age. Raises InvalidTaskError."""
    if age is None:
        return None
    seconds = check_duration(what, age)
    check_seconds(what, seconds)
    return round(seconds * 1000)
