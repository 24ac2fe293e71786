"""Reads the arguments of an act from what the user sent: texts of a form or a command, or values of a JSON document."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError

A = TypeVar("A", bound=msgspec.Struct)

NONE = "none"  # the text that stands for no value
# Names that other task queues give to arguments, and the names here.
_USUAL_NAMES = {
    **dict.fromkeys(("args", "arguments", "params", "parameters", "input", "inputs"), "kwargs"),
    **dict.fromkeys(("handler", "task", "function", "job", "type"), "name"),
    **dict.fromkeys(("message", "prompt", "content"), "text"),
    **dict.fromkeys(("payload", "body"), "data"),
    **dict.fromkeys(("id", "job_id"), "task_id"),
    **dict.fromkeys(("queue", "priority"), "lane"),
    **dict.fromkeys(("countdown", "delay_seconds", "schedule_in"), "delay"),
    **dict.fromkeys(("eta", "run_at", "scheduled_at"), "at"),
    **dict.fromkeys(("retries", "max_retries", "attempts"), "max_attempts"),
    **dict.fromkeys(("depends_on", "parents"), "after"),
    **dict.fromkeys(("ttl", "expires_in"), "expires"),
}
EMPTY: Mapping[str, object] = MappingProxyType({})
_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_ITEM = re.compile(r"(\w+)\[(\d+)\]")
_OF_LIST = re.compile(r"\[\d+\]")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")


class InvalidArgumentError(InvalidTaskError):
    """An argument is not allowed. `field`: the argument's name; empty if the whole input is wrong."""

    def __init__(self, detail: str, field: str = "") -> None:
        super().__init__(detail)
        self.field = field


def read_texts(texts: Mapping[str, object], wanted: type[A]) -> A:
    """The arguments, read from texts. If the type of an argument allows it, `20` becomes a number and `none` no value.
    Raises InvalidArgumentError."""
    fields = {field.name: field for field in msgspec.structs.fields(wanted)}
    values = {
        name: None if text == NONE and name in fields and NoneType in _kinds(fields[name].type) else text
        for name, text in texts.items()
    }
    try:
        return msgspec.convert(values, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise misfit(error, wanted, texts) from None


def misfit(
    error: msgspec.ValidationError, wanted: type[msgspec.Struct] | None = None, values: Mapping[str, object] = EMPTY
) -> InvalidArgumentError:
    """The error as a sentence about one argument: its name, its value, and the allowed values."""
    text = str(error)
    place, unknown = _PLACE.search(text), _UNKNOWN.search(text)
    field = ".".join(filter(None, [place[1] if place else "", unknown[1] if unknown else ""]))
    hints = {each.name: each.type for each in msgspec.structs.fields(wanted)} if wanted else {}
    if field in hints and field in values and (allowed := _allowed(hints[field])):
        return InvalidArgumentError(f"{field}: {shown(values[field])} is not allowed: use {allowed}", field)
    if item := _ITEM.fullmatch(field):
        name, given = item[1], values.get(item[1])
        of = [get_args(kind)[0] for kind in kinds_of(hints.get(name)) if get_origin(kind) is list]
        if of and isinstance(given, list) and (allowed := _allowed(of[0])):
            value = cast("list[object]", given)[int(item[2])]
            return InvalidArgumentError(f"{name}: {shown(value)} is not allowed: use {allowed}", name)
    if hints and unknown and (not place or _OF_LIST.fullmatch(place[1])):
        return InvalidArgumentError(f"{field}: not possible here; {_meant(unknown[1], list(hints))}", field)
    sentence = _PLACE.sub("", text)
    return InvalidArgumentError(f"{field}: {sentence}" if field else sentence, field)


def _meant(name: str, known: Sequence[str]) -> str:
    """The argument that was probably meant, or all arguments."""
    usual = _USUAL_NAMES.get(name.lower(), "")
    found = [usual] if usual in known else similar(name, known, 1)
    return f"did you mean {found[0]}?" if found else f"possible are {', '.join(known)}"


def similar(name: str, known: Iterable[str], most: int) -> list[str]:
    """At most so many known names that are similar to this one, the most similar first."""
    from difflib import get_close_matches  # rarely needed, and every process would keep it

    return get_close_matches(name, list(known), most)


def kinds_of(hint: Any) -> list[Any]:
    """The members of a union type, without their bounds (msgspec's Meta)."""
    return [get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in _kinds(hint)]


def description_of(hint: Any) -> str:
    """The description in the annotation of an argument; empty if it has none."""
    notes = [note for kind in _kinds(hint) if get_origin(kind) is Annotated for note in get_args(kind)[1:]]
    return next((text for note in notes if (text := getattr(note, "description", None))), "")


def _kinds(hint: Any) -> list[Any]:
    """The members of a union type, each with its bounds (msgspec's Meta)."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for each in get_args(hint) for kind in _kinds(each)]
    return [hint]


def _allowed(hint: Any) -> str:
    """The allowed values in words: `a whole number from 1 to 100, or none`. Empty for other types."""
    said = [_said(kind) for kind in _kinds(hint) if kind is not msgspec.UnsetType]
    return "" if "" in said else ", or ".join(said)


def _said(kind: Any) -> str:
    bounds: dict[str, Any] = {}
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
        bounds = {
            name: getattr(each, name) for each in notes for name in ("ge", "le", "max_length") if hasattr(each, name)
        }
    match kind:
        case _ if kind is NoneType:
            return NONE
        case _ if kind is bool:
            return "true or false"
        case _ if kind in (int, float):
            number = "a whole number" if kind is int else "a number"
            least, most = bounds.get("ge"), bounds.get("le")
            return f"{number} from {least} to {most}" if most is not None else f"{number} of at least {least or 0}"
        case _ if kind is str:
            return f"a text of at most {most} characters" if (most := bounds.get("max_length")) else "a text"
        case _ if get_origin(kind) is Literal:
            return f"one of {', '.join(map(str, get_args(kind)))}"
        case _ if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return f"one of {', '.join(str(each.value) for each in kind)}"
        case _:
            return ""
