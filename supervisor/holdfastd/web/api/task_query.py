"""The filter of tasks, as operations take it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.client.arguments import WantedTasks
from holdfast.core.task_states import State
from holdfastd.web.api.types import Duration, seconds


class TaskQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The filter of tasks."""

    state: Annotated[list[State], Meta(description="Only tasks in these states.")] = []
    lane: Annotated[str | None, Meta(description="Only tasks of this lane.")] = None
    name: Annotated[str | None, Meta(description="Only tasks of the handler with this name.")] = None
    text: Annotated[
        str | None, Meta(description="Only tasks with this text in their id, name, reason, arguments, result or error.")
    ] = None
    batch: Annotated[str | None, Meta(description="Only tasks of this batch.")] = None
    owner: Annotated[str | None, Meta(description="Only tasks that this worker (its incarnation) runs.")] = None
    older: Annotated[Duration | None, Meta(description="Only tasks accepted at least this long ago.")] = None
    newer: Annotated[Duration | None, Meta(description="Only tasks accepted at most this long ago.")] = None


def wanted_of(query: TaskQuery) -> WantedTasks:
    """The filter without its states and its text, as TaskManager.list_tasks takes it."""
    return {
        "lane": query.lane,
        "name": query.name,
        "batch": query.batch,
        "owner": query.owner,
        "older_than": seconds("older", query.older),
        "newer_than": seconds("newer", query.newer),
    }
