"""A form that submits a task of one handler: its fields, and the task that was typed into them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.client.task_spec import TaskSpec
from holdfast.core.identity import first_message_id
from holdfast.core.published_handlers import PublishedHandler
from holdfast.errors import InvalidTaskError
from holdfast_config import durations
from holdfastd.web.queue.redaction import Redaction
from holdfastd.web.views.argument_fields import (
    ArgumentField,
    FieldKind,
    argument_fields,
    as_typed,
    json_text,
    read_arguments,
    read_json,
)
from holdfastd.web.views.shown_task import TaskCall

FROM = "resubmitted_from"  # in the metadata of a task: the one that it was made from
TEXT, DATA, TASK_ID, ORIGINAL, HANDLER = "text", "data", "task_id", "original", "handler"


class InvalidSubmissionError(InvalidTaskError):
    """The typed values are no task. `problems`: by the names of the fields."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values())[:1000])
        self.problems = problems


@dataclass(frozen=True, slots=True)
class SubmissionForm:
    """`original`: the id of the task that it edits; `left_out`: kinds of its parts that the form does not hold."""

    handler: PublishedHandler
    task_id: str
    arguments: list[ArgumentField]
    options: list[ArgumentField]
    original: str = ""
    left_out: tuple[str, ...] = ()
    problem: str = ""

    @property
    def has_options(self) -> bool:
        """True if an option is filled in, so that they are not folded."""
        return any(each.value or each.problem for each in self.options)

    def again(
        self, typed: Mapping[str, str], error: InvalidTaskError | None = None, problem: str = ""
    ) -> SubmissionForm:
        """The form with the typed texts, and what is wrong with them."""
        problems: Mapping[str, str] = error.problems if isinstance(error, InvalidSubmissionError) else {}
        return replace(
            self,
            task_id=typed.get(TASK_ID, self.task_id),
            arguments=as_typed(self.arguments, typed, problems),
            options=as_typed(self.options, typed, problems),
            problem=problem or str(error or ""),
        )


@dataclass(frozen=True, slots=True)
class _Option:
    """A field of TaskSpec that a form has; `read` makes its value of a text, or raises ValueError."""

    name: str
    title: str
    hint: str
    read: Callable[[str], Any]


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text[:40]!r}: a whole number is expected")
    return int(text[:20])


_OPTIONS = (
    _Option("lane", "Lane", "that of the handler, if it is empty", str),
    _Option("delay", "Delay", "such as 90s, 5m, 2h", durations.seconds),
    _Option("expires", "Expires", "canceled unless a worker takes it within this time", durations.seconds),
    _Option("max_attempts", "Attempts", "runs of a task that fails, at most", _whole_number),
    _Option("timeout", "Timeout", "of one run, such as 5m", durations.seconds),
    _Option("concurrency_key", "Concurrency key", "of tasks with one key one runs at a time", str),
)


def empty_form(handler: PublishedHandler, task_id: str) -> SubmissionForm:
    return SubmissionForm(handler, task_id, _message_fields(handler, TaskCall(handler.name)), _option_fields({}))


def edit_form(
    handler: PublishedHandler, task_id: str, call: TaskCall, original: str, options: Mapping[str, str]
) -> SubmissionForm:
    """The form with the call of a task; `options`: texts by their names."""
    return SubmissionForm(
        handler, task_id, _message_fields(handler, call), _option_fields(options), original, call.left_out
    )


def typed_spec(
    handler: PublishedHandler, typed: Mapping[str, str], call: TaskCall | None, redaction: Redaction
) -> TaskSpec:
    """The task that was typed; `call`: that of the original, whose hidden values are put back. Raises
    InvalidSubmissionError."""
    problems: dict[str, str] = {}
    options: dict[str, Any] = {}
    for option in _OPTIONS:
        text = typed.get(option.name, "").strip()
        try:
            options |= {option.name: option.read(text)} if text else {}
        except ValueError as error:
            problems[option.name] = f"{option.name}: {error}"
    if handler.name:
        arguments = read_arguments(
            handler, typed, lambda kwargs: redaction.restored(kwargs, call.kwargs if call else {})
        )
        problems = arguments.problems | problems
        options |= {"name": handler.name, "kwargs": arguments.kwargs}
        options.setdefault("lane", handler.lane or None)
    else:
        options |= {"data": _read_data(typed.get(DATA, ""), call, redaction, problems)}
    text = _read_text(typed.get(TEXT, ""), call, redaction, problems)
    if problems:
        raise InvalidSubmissionError(problems)
    original = typed.get(ORIGINAL, "")
    metadata = {**(call.metadata if call else {}), **({FROM: original} if original else {})}
    task_id = typed.get(TASK_ID, "")
    return TaskSpec(
        text=text if text or (not handler.name and options.get("data") is None) else None,
        task_id=task_id,
        message_id=first_message_id(task_id),  # other content is a conflict
        context_id=call.context_id if call and call.context_id != original else None,
        metadata=metadata or None,
        **options,
    )


def _read_data(text: str, call: TaskCall | None, redaction: Redaction, problems: dict[str, str]) -> Any:
    try:
        return redaction.restored(read_json(text), call.data if call else None) if text.strip() else None
    except ValueError as error:
        problems[DATA] = str(error)
        return None


def _read_text(typed: str, call: TaskCall | None, redaction: Redaction, problems: dict[str, str]) -> str:
    text = typed.replace("\r\n", "\n")
    try:
        return str(redaction.restored(text, call.text if call else ""))
    except ValueError as error:
        problems[TEXT] = str(error)
        return text


def _message_fields(handler: PublishedHandler, call: TaskCall) -> list[ArgumentField]:
    text = ArgumentField(TEXT, "Text", FieldKind.LONG_TEXT, call.text, hint="its message")
    if handler.name:
        return [*argument_fields(handler, call.kwargs), *([text] if handler.takes_text or call.text else [])]
    data = json_text(call.data) if call.data is not None else ""
    return [text, ArgumentField(DATA, "Data", FieldKind.JSON, data, hint="JSON, beside the text or in its place")]


def _option_fields(values: Mapping[str, str]) -> list[ArgumentField]:
    return [
        ArgumentField(option.name, option.title, FieldKind.TEXT, values.get(option.name, ""), hint=option.hint)
        for option in _OPTIONS
    ]
