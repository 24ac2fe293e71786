"""The form that submits a task of one handler: its fields, and the task that their texts describe. No I/O."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, cast

from holdfast.client.task_spec import TaskSpec
from holdfast.core.identity import first_message_id
from holdfast.core.published_handlers import PublishedHandler, flaws, resolved
from holdfast.errors import InvalidTaskError
from holdfast_config import durations
from holdfastd.documents.task_list import TaskCall
from holdfastd.operations.reading import description_of
from holdfastd.operations.submit_tasks import Unchecked
from holdfastd.web.queue.redaction import Redaction

# Fields for the arguments of a handler, made from the JSON schema that its workers publish.

PREFIX = "arg."  # the names of fields for arguments begin so
WHOLE = "kwargs"  # name of the field for all arguments, or for those that the schema does not name
MOST_FIELDS = 100
MOST_CHOICES = 200
BOOLEAN = ("true", "false")
_NUMBERS = frozenset({"integer", "number"})
OBJECT = '{"region": "eu"}'
LONG = 60  # characters; a longer text gets a field with several lines


class FieldKind(StrEnum):
    TEXT = "text"
    LONG_TEXT = "long-text"
    WHOLE_NUMBER = "integer"
    NUMBER = "number"
    DATE = "date"
    CHOICE = "choice"
    SWITCH = "switch"  # a box to tick: true or false, and nothing between
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ArgumentField:
    """A field of the form. `value`: the text in it. `hint`: the type and the default, in words. `example`: a value of
    the right form, which the empty field shows in grey. `problem`: why the value was refused."""

    name: str
    title: str
    kind: FieldKind
    value: str = ""
    is_required: bool = False
    choices: tuple[str, ...] = ()
    hint: str = ""
    problem: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """The arguments that a user typed. `problems`: why values were refused, by the names of the fields."""

    kwargs: dict[str, Any]
    problems: dict[str, str] = field(default_factory=dict[str, str])


def argument_fields(handler: PublishedHandler, kwargs: Mapping[str, Any] | None = None) -> list[ArgumentField]:
    """The fields for a handler, filled with these arguments. Without a schema, there is one field for all arguments."""
    schema, given = handler.arguments, dict(kwargs or {})
    if schema is None:
        text = json_text(given) if given else ""
        return [ArgumentField(WHOLE, "Arguments", FieldKind.JSON, text, hint="a JSON object", example=OBJECT)]
    fields = [_field(schema, name, each, given) for name, each in _properties(schema).items()]
    rest = {name: value for name, value in given.items() if name not in _properties(schema)}
    if rest or schema.get("additionalProperties") is not False:
        text = json_text(rest) if rest else ""
        fields.append(
            ArgumentField(WHOLE, "More arguments", FieldKind.JSON, text, hint="a JSON object", example=OBJECT)
        )
    return fields


def as_typed(
    fields: Sequence[ArgumentField], typed: Mapping[str, str], problems: Mapping[str, str]
) -> list[ArgumentField]:
    """The fields with the texts that a user typed, and with their problems."""
    return [
        replace(each, value=typed.get(each.name, each.value), problem=problems.get(each.name, "")) for each in fields
    ]


def read_arguments(
    handler: PublishedHandler,
    typed: Mapping[str, str],
    restored: Callable[[Any], Any] = lambda kwargs: kwargs,
    *,
    unchecked: bool = False,
) -> ReadArguments:
    """The arguments in the fields of a form, checked against the schema, unless `unchecked` is set. An empty field that
    is not required is no argument. `restored` puts back secrets that the form showed as ***, or raises ValueError."""
    kwargs: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for each in argument_fields(handler):
        text = typed.get(each.name, "")
        try:
            kwargs |= _read(each, text)
        except ValueError as error:
            problems[each.name] = str(error)
    try:
        kwargs = restored(kwargs)
    except ValueError as error:
        problems.setdefault(WHOLE, str(error))
    if handler.arguments is not None and not problems and not unchecked:
        for flaw in flaws(handler.arguments, kwargs):
            name = PREFIX + flaw.place.partition(".")[0].partition("[")[0]
            known = name if name.removeprefix(PREFIX) in _properties(handler.arguments) else WHOLE
            problems.setdefault(known, f"{flaw.place}: {flaw.why}")
    return ReadArguments(kwargs, problems)


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def read_json(text: str) -> Any:
    """The JSON value in a text. Raises ValueError, which names line and column."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("this JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return dict(list(cast("dict[str, Any]", found).items())[:MOST_FIELDS]) if isinstance(found, dict) else {}


def _field(schema: Mapping[str, Any], name: str, own: Any, given: Mapping[str, Any]) -> ArgumentField:
    kind, choices = _kind(schema, own)
    value = _shown(kind, given[name]) if name in given else ""
    if name in given and value is None:
        kind, choices, value = FieldKind.JSON, (), json_text(given[name])
    if kind is FieldKind.TEXT and value and (len(value) > LONG or "\n" in value):
        kind = FieldKind.LONG_TEXT
    if value and ((kind is FieldKind.CHOICE and value not in choices) or (kind is FieldKind.DATE and "-" not in value)):
        kind = FieldKind.TEXT  # the value may be a ***
    is_required = name in (schema.get("required") or [])
    default = resolved({}, own).get("default")
    if choices == BOOLEAN and kind is FieldKind.CHOICE and (is_required or isinstance(default, bool)):
        kind, value = FieldKind.SWITCH, value or json.dumps(default is True)
    example = json.dumps(_example(schema, own), ensure_ascii=False) if kind is FieldKind.JSON else ""
    if default not in (None, "") and kind not in (FieldKind.SWITCH, FieldKind.CHOICE):
        example = str(_shown(kind, default) or "")[:LONG]
    hint = _hint(kind, own, is_required)
    return ArgumentField(PREFIX + name, name, kind, value or "", is_required, choices, hint, example=example)


DEEPEST_EXAMPLE = 3  # levels of lists and objects
LONGEST_EXAMPLE = 6  # names of one object


def _example(schema: Mapping[str, Any], own: Any, depth: int = 0) -> Any:
    """A value of the form that the schema asks for: `[{"sku": "text", "count": 1}]`."""
    one = resolved(schema, own)
    kinds, named, properties = one.get("anyOf"), one.get("enum"), one.get("properties")
    if isinstance(kinds, list) and kinds:
        return _example(schema, kinds[0], depth)
    if isinstance(named, list) and named:
        return cast("list[object]", named)[0]
    if one.get("type") == "array":
        return [_example(schema, one.get("items"), depth + 1)] if depth < DEEPEST_EXAMPLE else []
    if isinstance(properties, dict) and depth < DEEPEST_EXAMPLE:
        some = list(cast("dict[str, Any]", properties).items())[:LONGEST_EXAMPLE]
        return {name: _example(schema, each, depth + 1) for name, each in some}
    return _EXAMPLES.get(str(one.get("type")))


_EXAMPLES: dict[str, object] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "object": {}}


def _kind(schema: Mapping[str, Any], own: Any) -> tuple[FieldKind, tuple[str, ...]]:
    """The kind of field for a schema, and the choices. A plain type, or a union of one with null, gets a plain field;
    every other type gets a field for JSON."""
    one = resolved(schema, own)
    choices = one.get("anyOf")
    if isinstance(choices, list):
        others = [resolved(schema, each) for each in cast("list[object]", choices)]
        others = [each for each in others if each.get("type") != "null"]
        one = others[0] if len(others) == 1 else {}
    named = one.get("enum")
    if isinstance(named, list):
        return _of_choices(cast("list[object]", named))
    kind, form = one.get("type"), one.get("format")
    return _PLAIN.get((kind, form)) or _PLAIN.get((kind, None)) or (FieldKind.JSON, ())


def _of_choices(named: list[object]) -> tuple[FieldKind, tuple[str, ...]]:
    texts = tuple(each for each in named if isinstance(each, str))
    return (FieldKind.CHOICE, texts) if 0 < len(texts) == len(named) <= MOST_CHOICES else (FieldKind.JSON, ())


_PLAIN: dict[tuple[Any, Any], tuple[FieldKind, tuple[str, ...]]] = {
    ("string", None): (FieldKind.TEXT, ()),
    ("string", "date"): (FieldKind.DATE, ()),
    ("integer", None): (FieldKind.WHOLE_NUMBER, ()),
    ("number", None): (FieldKind.NUMBER, ()),
    ("boolean", None): (FieldKind.CHOICE, BOOLEAN),
}


def _shown(kind: FieldKind, value: Any) -> str | None:
    """The text that a field of this kind shows for the value; None if the value does not fit the kind."""
    if kind is FieldKind.JSON:
        return json_text(value)
    if isinstance(value, bool):
        return json.dumps(value) if kind is FieldKind.CHOICE else None
    if isinstance(value, str):
        return value if kind not in (FieldKind.NUMBER, FieldKind.WHOLE_NUMBER) and value else None
    is_number = isinstance(value, int | float) and kind in (FieldKind.NUMBER, FieldKind.WHOLE_NUMBER)
    return json.dumps(value) if is_number else None


def _hint(kind: FieldKind, own: Any, is_required: bool) -> str:
    """In words: the kind of value, and what an empty field stands for."""
    words = [_HINTS.get(kind, "")]
    default = resolved({}, own).get("default")
    if default not in (None, "") and kind is not FieldKind.SWITCH:
        words.append(f"optional, by default {json.dumps(default, ensure_ascii=False)[:LONG]}")
    elif not is_required and kind is not FieldKind.SWITCH:
        words.append("optional")
    return ", ".join(filter(None, words))


_HINTS = {
    FieldKind.JSON: "a JSON value",
    FieldKind.WHOLE_NUMBER: "a whole number",
    FieldKind.NUMBER: "a number",
    FieldKind.DATE: "a date",
}


def _read(each: ArgumentField, text: str) -> dict[str, Any]:
    """The argument that the user typed into a field; for the field WHOLE several arguments. Raises ValueError."""
    if each.name == WHOLE:
        whole: object = read_json(text) if text.strip() else {}
        if not isinstance(whole, dict):
            raise ValueError('a JSON object is expected, as in {"region": "eu"}')
        return cast("dict[str, Any]", whole)
    name = each.name.removeprefix(PREFIX)
    is_text = each.kind in (FieldKind.TEXT, FieldKind.LONG_TEXT)
    if not (text if is_text else text.strip()) and not (each.is_required and is_text):
        if each.is_required:
            raise ValueError(f"{name}: is missing")
        return {}
    return {name: _value(each, text)}


def _value(each: ArgumentField, text: str) -> Any:
    if each.kind in _NUMBERS or each.choices == BOOLEAN:
        try:
            return read_json(text)
        except ValueError:
            return text  # the check against the schema says what is expected
    if each.kind is FieldKind.JSON:
        return read_json(text)
    return text.replace("\r\n", "\n")


# The form: the arguments, the message, and the options of the task.

FROM = "resubmitted_from"  # key in a task's metadata: the id of the task that was edited
TEXT, DATA, TASK_ID, ORIGINAL, HANDLER, UNCHECKED = "text", "data", "task_id", "original", "handler", "unchecked"


class InvalidSubmissionError(InvalidTaskError):
    """The typed values do not make a valid task. `problems`: by the names of the fields."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values())[:1000])
        self.problems = problems


@dataclass(frozen=True, slots=True)
class SubmissionForm:
    """A form that submits a task. `original`: id of the edited task; empty for a new one. `left_out`: kinds of parts of
    the original that the form cannot hold."""

    handler: PublishedHandler
    task_id: str
    arguments: list[ArgumentField]
    options: list[ArgumentField]
    original: str = ""
    left_out: tuple[str, ...] = ()
    problem: str = ""

    @property
    def command(self) -> str:
        """The command that submits such a task. A required argument without a value stands there as `<name>`."""
        kwargs: dict[str, Any] = {}
        for each in self.arguments if self.handler.name else ():
            name = each.name.removeprefix(PREFIX)
            if each.is_required and not each.value and each.name != WHOLE:
                kwargs[name] = f"<{name}>"
                continue
            try:
                kwargs |= _read(each, each.value)
            except ValueError:
                continue  # the form says what is wrong with it
        named = ["--name", self.handler.name] if self.handler.name else []
        content = ["--data", json.dumps(kwargs, ensure_ascii=False)] if kwargs else [] if named else ["hello"]
        return shlex.join(["supervisor", "submit", *named, *content])

    @property
    def has_options(self) -> bool:
        """True if an option has a value or a problem: the page then shows the options unfolded."""
        return any(each.value not in ("", "false") or each.problem for each in self.options)

    def again(
        self, typed: Mapping[str, str], error: InvalidTaskError | None = None, problem: str = ""
    ) -> SubmissionForm:
        """The same form, with the texts that the user typed, and with the problems of these texts."""
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
    """A field of TaskSpec in the form. `read`: makes the value from a text, or raises ValueError."""

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
    """The form filled with the call of the task `original`. `options`: texts by the names of the options."""
    return SubmissionForm(
        handler, task_id, _message_fields(handler, call), _option_fields(options), original, call.left_out
    )


def typed_spec(
    handler: PublishedHandler, typed: Mapping[str, str], call: TaskCall | None, redaction: Redaction
) -> TaskSpec:
    """The task that the typed texts describe. `call`: the original task's call; secrets that the form showed as *** get
    their values from it. Raises InvalidSubmissionError."""
    problems: dict[str, str] = {}
    options: dict[str, Any] = {}
    for option in _OPTIONS:
        text = typed.get(option.name, "").strip()
        try:
            options |= {option.name: option.read(text)} if text else {}
        except ValueError as error:
            problems[option.name] = f"{option.name}: {error}"

    def restored(field: str, read: Callable[[], Any], original: Any) -> Any:
        try:
            return redaction.restored(read(), original)
        except ValueError as error:
            problems[field] = str(error)
            return None

    if handler.name:
        arguments = read_arguments(
            handler,
            typed,
            lambda kwargs: redaction.restored(kwargs, call.kwargs if call else {}),
            unchecked=is_unchecked(typed),
        )
        problems = arguments.problems | problems
        options |= {"name": handler.name, "kwargs": arguments.kwargs}
        options.setdefault("lane", handler.lane or None)
    elif data := typed.get(DATA, "").strip():
        options |= {"data": restored(DATA, lambda: read_json(data), call.data if call else None)}
    text = restored(TEXT, lambda: typed.get(TEXT, "").replace("\r\n", "\n"), call.text if call else "")
    if problems:
        raise InvalidSubmissionError(problems)
    original = typed.get(ORIGINAL, "")
    metadata = {**(call.metadata if call else {}), **({FROM: original} if original else {})}
    task_id = typed.get(TASK_ID, "")
    return TaskSpec(
        text=text if text or (not handler.name and options.get("data") is None) else None,
        task_id=task_id,
        message_id=first_message_id(task_id),  # so other content under the same task id is refused as a conflict
        context_id=call.context_id if call and call.context_id != original else None,
        metadata=metadata or None,
        **options,
    )


def _message_fields(handler: PublishedHandler, call: TaskCall) -> list[ArgumentField]:
    text = ArgumentField(TEXT, "Text", FieldKind.LONG_TEXT, call.text, hint="its message")
    if handler.name:
        return [*argument_fields(handler, call.kwargs), *([text] if handler.takes_text or call.text else [])]
    data = json_text(call.data) if call.data is not None else ""
    return [text, ArgumentField(DATA, "Data", FieldKind.JSON, data, hint="JSON, beside the text or in its place")]


def _option_fields(values: Mapping[str, str]) -> list[ArgumentField]:
    fields = [
        ArgumentField(option.name, option.title, FieldKind.TEXT, values.get(option.name, ""), hint=option.hint)
        for option in _OPTIONS
    ]
    return [*fields, ArgumentField(UNCHECKED, "Unchecked", FieldKind.SWITCH, hint=description_of(Unchecked))]


def is_unchecked(typed: Mapping[str, str]) -> bool:
    """True if the user wants to submit arguments that do not fit the published handler, too."""
    return typed.get(UNCHECKED) == "true"
