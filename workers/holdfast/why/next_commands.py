"""The commands that an operator may use on a task, by its state. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import is_asleep, read_trail

_CANCEL = "supervisor tasks cancel {task}"
_PAUSE = "supervisor tasks pause {task}"
_RETRY = "supervisor tasks retry {task}"
_RESUME = "supervisor tasks resume {task}"
_ANSWER = "supervisor tasks resume --text ANSWER {task}"
_SHOW = "supervisor tasks show {task}"
_REMOVE = "supervisor tasks remove {task}"
_NEXT_RUN = "supervisor why {next}"

COMMANDS: Mapping[State, tuple[str, ...]] = {
    State.SUBMITTED: (_PAUSE, _CANCEL),
    State.DELAYED: (_RETRY, _PAUSE, _CANCEL),  # a retry of a delayed task: it is due now
    State.WAITING: (_PAUSE, _CANCEL),
    State.WORKING: (_PAUSE, _CANCEL),
    State.INPUT_REQUIRED: (_ANSWER, _CANCEL),
    State.AUTH_REQUIRED: (_ANSWER, _CANCEL),
    State.SUSPENDED: (_RESUME, _CANCEL),
    State.COMPLETED: (_SHOW, _REMOVE),
    State.FAILED: (_SHOW, _RETRY, _REMOVE),
    State.REJECTED: (_SHOW, _RETRY, _REMOVE),
    State.CANCELED: (_SHOW, _RETRY, _REMOVE),
}


def commands(task: TaskRecord) -> tuple[str, ...]:
    """The commands, ready for a shell. A task that was retried is not run again; its next run is shown instead."""
    forms = COMMANDS[task.state]
    if is_asleep(task.state, read_trail(task.trail)):
        forms = tuple(form for form in forms if form != _RETRY)  # it would sleep on until the same time
    if task.retried_as:
        forms = tuple(_NEXT_RUN if form == _RETRY else form for form in forms)
    return tuple(form.format(task=_word(task.task_id), next=_word(task.retried_as)) for form in forms)


def _word(task_id: str) -> str:
    """The id as an argument: `--` stands before one that begins like an option."""
    return f"-- {task_id}" if task_id.startswith("-") else task_id
