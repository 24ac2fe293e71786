"""Tasks that were submitted in a test: finds them by handler and arguments, and shows them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.core.acceptance import Submission
from holdfast.core.envelope import Run, read
from holdfast.handler.registered_handler import RegisteredHandler
from holdfast.handler.returned_value import to_plain

MOST_SHOWN = 20
UNBOUNDED = 1 << 62

HandlerOrName = RegisteredHandler[..., Any, ..., Any] | str


@dataclass(frozen=True, slots=True)
class SubmittedTask:
    """A submitted task, or a further message for a task. `parameters`: the arguments of the handler `name`; without a
    name, the message's `text` and `data`. `delay` in seconds. `lane`: where it waits."""

    task_id: str
    name: str
    parameters: Mapping[str, Any]
    lane: str
    delay: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        later = "" if self.delay is None else f" after {self.delay:g} s"
        return f"{self.name or 'default'}({given}) in {self.lane}{later}, task {self.task_id}"


def submitted_task(submission: Submission, now_ms: int) -> SubmittedTask:
    """The task of a submission that was accepted at `now_ms`."""
    operation = read(submission.operation, UNBOUNDED)
    assert isinstance(operation, Run)
    delay_ms = submission.delay_ms if submission.due_ms is None else submission.due_ms - now_ms
    return SubmittedTask(
        submission.task_id,
        operation.name or "",
        dict(operation.kwargs) if operation.name else _content(operation),
        submission.lane,
        None if delay_ms is None else delay_ms / 1000,
        operation.metadata,
    )


def _content(operation: Run) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message in operation.messages:
        for part in message["parts"]:
            found[part["kind"]] = part[part["kind"]]
    return found


@dataclass(frozen=True, slots=True)
class ExpectedTask:
    """The tasks of a handler (None: of any) with at least these arguments."""

    name: str | None
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, handler: object, parameters: Mapping[str, object]) -> ExpectedTask:
        """Raises TypeError if `handler` is no handler, or does not have a parameter."""
        match handler:
            case None | str():
                name = handler
            case RegisteredHandler(name=name, function=function):
                _check_parameters(name, function, parameters)
            case _:
                raise TypeError(f"{handler!r}: a registered handler or the name of one is expected")
        return cls(name, {key: to_plain(value) for key, value in parameters.items()})

    def fits(self, task: SubmittedTask) -> bool:
        """True if the task is of this handler and has at least these arguments."""
        if self.name is not None and task.name != self.name:
            return False
        return all(key in task.parameters and task.parameters[key] == value for key, value in self.parameters.items())

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{self.name or 'any handler'}({given})"


def _check_parameters(name: str, function: Callable[..., Any], parameters: Mapping[str, object]) -> None:
    known = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in known):
        return
    names = [each.name for each in known]
    if strange := [each for each in parameters if each not in names]:
        raise TypeError(f"{name} has no parameter {strange[0]!r}; it has {', '.join(names) or 'none'}")


def listed(tasks: Iterable[SubmittedTask]) -> str:
    """The lines of a failure that list the submitted tasks."""
    lines = [f"  {task}" for task in tasks]
    if not lines:
        return "nothing was submitted"
    more = [f"  and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return "\n".join([f"submitted, {len(lines)} in all:", *lines[:MOST_SHOWN], *more])
