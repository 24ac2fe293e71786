"""The tasks that a command changes: named by their ids, or all that a filter finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import click

from holdfast.client.wanted_tasks import WantedTasks
from holdfast.core.task_states import State
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.task_id import TASK_ID

F = TypeVar("F", bound=Callable[..., Any])

FILTERS = "--state, --lane, --name, --text, --batch, --owner, --older, --newer"
WHICH = f"name the tasks by TASK_ID, or select them with --all or {FILTERS}"
OPTIONS = (
    click.argument("task_ids", nargs=-1, type=TASK_ID, metavar="[TASK_ID...]"),
    click.option("--all", "all_of_them", is_flag=True, help="All tasks in whose state this changes something."),
    click.option(
        "--state",
        "states",
        type=click.Choice([str(state) for state in State]),
        multiple=True,
        help="Only tasks in this state (repeatable).",
    ),
    click.option("--lane", help="Only tasks of this lane."),
    click.option("--name", help="Only tasks of the handler with this name."),
    click.option("--text", help="Only tasks with this text in their id, name, reason, arguments, result or error."),
    click.option("--batch", help="Only tasks of this batch."),
    click.option("--owner", help="Only tasks that this worker (its incarnation) runs."),
    click.option("--older", "older_than", type=DURATION, help="Only tasks accepted at least this long ago."),
    click.option("--newer", "newer_than", type=DURATION, help="Only tasks accepted at most this long ago."),
    click.option("--yes", is_flag=True, help="Do not ask for confirmation of what a filter finds."),
)


class TaskFilter:
    """The filter of a command's options; empty where tasks are named."""

    def __init__(self, chosen: Mapping[str, Any]) -> None:
        self.states: Sequence[State] = [State(state) for state in chosen["states"]]
        self.text: str = chosen["text"] or ""
        self.yes: bool = chosen["yes"]
        names = ("lane", "name", "batch", "owner", "older_than", "newer_than")
        self.wanted = cast("WantedTasks", {name: chosen[name] for name in names})

    @property
    def is_empty(self) -> bool:
        return not (self.states or self.text or any(value is not None for value in self.wanted.values()))


def of_tasks(command: F) -> F:
    """Adds the ids and the filter; the command gets `task_ids`, and the others for `chosen_filter`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def chosen_filter(task_ids: Sequence[str], chosen: Mapping[str, Any]) -> TaskFilter | None:
    """None if tasks are named by their ids. Raises UsageError for both, and for neither."""
    found = TaskFilter(chosen)
    filtered = chosen["all_of_them"] or not found.is_empty
    if bool(task_ids) == filtered:
        raise click.UsageError(f"TASK_ID, and --all or a filter, exclude each other: {WHICH}" if task_ids else WHICH)
    return found if filtered else None
