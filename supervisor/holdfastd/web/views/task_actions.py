"""The changes that one task allows now, as the state machine of the core has them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.task_states import TERMINAL, TRANSITIONS, UNCHANGED, State, TaskEvent
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import is_asleep, read_trail


@dataclass(frozen=True, slots=True)
class TaskAction:
    """`path`: of the change; `is_final`: it cannot be undone, so a visitor is asked first; `takes_reason`: a reason can
    be given, which is kept with the task."""

    path: str
    title: str
    is_allowed: Callable[[TaskRecord], bool]
    is_final: bool = False
    takes_reason: bool = False


def allowed(task: TaskRecord) -> list[TaskAction]:
    """The changes that are offered, in their order."""
    return [action for action in ACTIONS if action.is_allowed(task)]


def takes_messages(task: TaskRecord) -> bool:
    """True where a message continues the task, or waits for its running turn."""
    return _happens(TaskEvent.MESSAGE, task) or _happens(TaskEvent.MESSAGE_WAITS, task)


def _happens(event: TaskEvent, task: TaskRecord) -> bool:
    return event in TRANSITIONS[task.state] or task.state in UNCHANGED.get(event, ())


def _on(event: TaskEvent) -> Callable[[TaskRecord], bool]:
    return lambda task: _happens(event, task)


def _may_retry(task: TaskRecord) -> bool:
    """A task that failed and was not retried, or one whose delay can be cut short: a sleep cannot."""
    if _happens(TaskEvent.RETRIED, task):
        return not task.retried_as
    return _happens(TaskEvent.PROMOTED, task) and not is_asleep(task.state, read_trail(task.trail))


def _is_over(task: TaskRecord) -> bool:
    return task.state in TERMINAL


def _waits_for_pause(task: TaskRecord) -> bool:
    """True for a running task that was asked to pause: a resume withdraws it."""
    asked = [step.event for step in read_trail(task.trail) if step.event in _PAUSES]
    return task.state is State.WORKING and asked[-1:] == [TaskEvent.PAUSE_ASKED]


_PAUSES = frozenset({TaskEvent.PAUSE_ASKED, TaskEvent.PAUSE_WITHDRAWN, TaskEvent.CLAIMED})

ACTIONS = (
    TaskAction("/tasks/resume", "Resume", lambda task: _happens(TaskEvent.RESUMED, task) or _waits_for_pause(task)),
    TaskAction(
        "/tasks/pause",
        "Pause",
        lambda task: _happens(TaskEvent.SUSPENDED, task) and not _waits_for_pause(task),
        takes_reason=True,
    ),
    TaskAction("/tasks/retry", "Retry", _may_retry, takes_reason=True),
    TaskAction("/tasks/cancel", "Cancel", _on(TaskEvent.CANCELED), is_final=True, takes_reason=True),
    TaskAction("/tasks/remove", "Remove", _is_over, is_final=True),
)
