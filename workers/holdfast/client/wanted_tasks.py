"""The arguments that say which tasks are listed or searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from holdfast.client.arguments import (
    check_batch_id,
    check_flag,
    check_lane,
    check_name,
    check_owner,
    check_seconds,
    check_states,
)
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted


class WantedTasks(TypedDict, total=False):
    """See TaskManager.list_tasks."""

    lane: str | None
    name: str | None
    batch: str | None
    owner: str | None
    older_than: float | None
    newer_than: float | None
    newest_first: bool


def checked_wanted(states: Sequence[State | str], wanted: WantedTasks) -> Wanted:
    """Raises InvalidTaskError; TypeError for an argument that there is not."""
    return _checked(states, **wanted)


def _checked(
    states: Sequence[State | str],
    lane: str | None = None,
    name: str | None = None,
    batch: str | None = None,
    owner: str | None = None,
    older_than: float | None = None,
    newer_than: float | None = None,
    newest_first: bool = False,
) -> Wanted:
    return Wanted(
        states=check_states(states),
        lane="" if lane is None else check_lane(lane),
        name="" if name is None else check_name(name),
        older_ms=_age("older_than", older_than),
        newer_ms=_age("newer_than", newer_than),
        batch="" if batch is None else check_batch_id(batch),
        owner="" if owner is None else check_owner(owner),
        newest_first=check_flag("newest_first", newest_first),
    )


def _age(what: str, seconds: float | None) -> int | None:
    if seconds is not None:
        check_seconds(what, seconds)
    return None if seconds is None else round(seconds * 1000)
