"""The handlers that workers publish. Forms, APIs and agents learn from a published handler how to submit a task for it.
No I/O is done here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from holdfast.core.plain_json import shown

MOST_HANDLERS = 1_000  # of one application
MOST_BYTES = 8_192  # of the arguments of one handler, as JSON
MOST_BYTES_OF_ALL = 262_144
LONGEST_SUMMARY = 300  # characters


class PublishedHandler(msgspec.Struct, frozen=True, omit_defaults=True):
    """A handler as a worker publishes it. `name`: empty for the default handler.

    `arguments`: the JSON schema of its kwargs; None: any JSON object, or for the default handler no kwargs.
    `takes_text`: the handler reads the messages of its task. `summary`: the first paragraph of its docstring. `lane`,
    `max_attempts`, `timeout` (seconds): the options of its registration.
    """

    name: str
    arguments: dict[str, Any] | None = None
    takes_text: bool = False
    summary: str = ""
    lane: str = ""
    max_attempts: int | None = None
    timeout: float | None = None


class KeptHandler(PublishedHandler, frozen=True, omit_defaults=True):
    """A handler as the store keeps it. `earlier`: older schemas of its arguments, which live workers may still use. An
    empty schema allows any arguments. If the store has lost the handler, a worker publishes it with an empty list."""

    earlier: tuple[dict[str, Any], ...] = ()

    def misfits(self, kwargs: Mapping[str, object]) -> list[Flaw]:
        """The flaws of a task's arguments by the latest schema. Empty if an earlier schema allows the arguments,
        because a worker with that schema may run the task."""
        if self.arguments is None or not all(flaws(each, kwargs) for each in self.earlier):
            return []
        return flaws(self.arguments, kwargs)


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(PublishedHandler)
_kept_decoder = msgspec.json.Decoder(KeptHandler)
MOST_EARLIER = 3  # schemas; with more, any arguments are allowed
ANY: dict[str, Any] = {}  # the schema of any arguments


def spelled(handler: PublishedHandler, before: bytes | None = None) -> bytes:
    """The handler as text for the store, without the schema of its arguments if this is too large. `before`: the text
    that it replaces, whose schemas are kept beside the new one."""
    if handler.arguments is not None and len(_encode(handler.arguments)) > MOST_BYTES:
        handler = msgspec.structs.replace(handler, arguments=None)
    kept = read_kept(before) if before else None
    if kept is None or not handler.name:
        return _encode(handler)
    others = [each for each in (kept.arguments or ANY, *kept.earlier) if each != (handler.arguments or ANY)]
    earlier = tuple(others) if len(others) <= MOST_EARLIER else (ANY,)
    return _encode(KeptHandler(**msgspec.structs.asdict(handler), earlier=earlier))


def read_kept(text: bytes) -> KeptHandler | None:
    """Read a handler with its earlier schemas; None if Holdfast did not write the text."""
    try:
        return _kept_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_published(text: bytes) -> PublishedHandler | None:
    """Read a handler from a text of the store; None if Holdfast did not write the text."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


# Compares the arguments of a task with the JSON schema that the handler's worker has published. No I/O is done here.
#
# It knows the part of JSON Schema that is made of signatures. It lets values of other schemas pass: the worker decides.

Schema = Mapping[str, Any]
DEEPEST = 20  # levels of a value that are checked
MOST = 20  # flaws that one answer names

WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Flaw(NamedTuple):
    """A value that does not fit. `place`: the argument and the place in it, for example `order.lines[2]`. `why`: the
    expected value."""

    place: str
    why: str


def flaws(schema: Schema, arguments: object) -> list[Flaw]:
    """The first flaws of the arguments; none if they fit."""
    found: list[Flaw] = []
    for flaw in _flaws(schema, schema, arguments, "", 0):
        found.append(flaw)
        if len(found) == MOST:
            break
    return found


def _flaws(whole: Schema, schema: object, value: Any, place: str, depth: int) -> Iterator[Flaw]:
    schema = resolved(whole, schema)
    if depth > DEEPEST or not schema:
        return
    if choices := _choices(schema):
        yield from _of_choices(whole, choices, value, place, depth)
    elif not _is_allowed(schema, value):
        yield Flaw(place, f"{_expected(schema)} is expected, not {shown(value)}")
    else:
        yield from _inside_of(whole, schema, value, place, depth)


def _inside_of(whole: Schema, schema: Schema, value: Any, place: str, depth: int) -> Iterator[Flaw]:
    if isinstance(value, dict):
        yield from _of_object(whole, schema, cast("dict[str, Any]", value), place, depth)
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[object]", value)):
            yield from _flaws(whole, schema.get("items"), item, f"{place}[{number}]", depth + 1)
    else:
        yield from _out_of_bounds(schema, value, place)


def resolved(whole: Schema, schema: object) -> Schema:
    """The schema itself, or the schema that its `$ref` names; empty if that schema is missing."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict):
            return {}
        known = cast("Schema", schema)
        reference = known.get("$ref")
        if reference is None:
            return known
        definitions = whole.get("$defs")
        name = str(reference).removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        schema = cast("Schema", definitions).get(name) if isinstance(definitions, dict) else None
    return {}


def _choices(schema: Schema) -> list[object]:
    found = schema.get("anyOf") or schema.get("oneOf")
    return cast("list[object]", found) if isinstance(found, list) else []


def _of_choices(whole: Schema, choices: list[object], value: Any, place: str, depth: int) -> Iterator[Flaw]:
    """Check a value against several schemas, of which one has to fit. If none fits, returns the flaws by the only
    schema that has the value's type, or one flaw that lists the expected types."""
    of_each = [list(_flaws(whole, choice, value, place, depth + 1)) for choice in choices]
    if not all(of_each):
        return
    near = [
        each
        for each, choice in zip(of_each, choices, strict=True)
        if _is_of_type(resolved(whole, choice), value) and not _choices(resolved(whole, choice))
    ]
    if len(near) == 1:
        yield from near[0]
    else:
        words = dict.fromkeys(_expected(resolved(whole, choice)) for choice in choices)
        yield Flaw(place, f"{' or '.join(words)} is expected, not {shown(value)}")


def _of_object(whole: Schema, schema: Schema, value: dict[str, Any], place: str, depth: int) -> Iterator[Flaw]:
    known = cast("Schema", schema.get("properties") or {})
    more = schema.get("additionalProperties", True)
    for name in cast("list[str]", schema.get("required") or []):
        if name not in value:
            yield Flaw(_inside(place, name), "is missing")
    for name, item in value.items():
        if name in known:
            yield from _flaws(whole, known[name], item, _inside(place, name), depth + 1)
        elif more is False:
            yield Flaw(_inside(place, name), "is not expected")
        else:
            yield from _flaws(whole, more, item, _inside(place, name), depth + 1)


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _types(schema: Schema) -> list[str]:
    given = schema.get("type")
    if isinstance(given, str):
        return [given]
    return [str(each) for each in cast("list[object]", given)] if isinstance(given, list) else []


def _allowed(schema: Schema) -> list[object] | None:
    """The values of `enum` or `const`; None if the schema has neither."""
    if "const" in schema:
        return [schema["const"]]
    named = schema.get("enum")
    return cast("list[object]", named) if isinstance(named, list) else None


def _is_allowed(schema: Schema, value: Any) -> bool:
    named = _allowed(schema)
    return value in named if named is not None else _is_of_type(schema, value)


def _expected(schema: Schema) -> str:
    named = _allowed(schema)
    if named is not None:
        return f"one of {', '.join(map(shown, named[:MOST]))}"
    return " or ".join(WORDS.get(each, each) for each in _types(schema)) or "another value"


def _is_of_type(schema: Schema, value: Any) -> bool:
    types = _types(schema)
    known = [each for each in types if each in _IS]
    return not known or any(_IS[each](value) or _is_converted(each, schema, value) for each in known)


def _is_converted(kind: str, schema: Schema, value: Any) -> bool:
    """True if workers convert the value to this type: the text 3 to a number, a number to a date."""
    if kind == "string":
        return "format" in schema and _IS["number"](value)
    return str(value).strip().lower() in _BOOLEANS if kind == "boolean" else kind in _CONVERTED and _is_numeric(value)


def _is_numeric(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and _NUMERIC.fullmatch(value.strip()) is not None)


_CONVERTED = frozenset({"integer", "number"})
_NUMERIC = re.compile(r"[+-]?[0-9_.]+(e[+-]?[0-9]+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE)
_BOOLEANS = frozenset({"0", "1", "0.0", "1.0", "true", "false", "t", "f", "yes", "no", "y", "n", "on", "off"})


_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "number": lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _out_of_bounds(schema: Schema, value: Any, place: str) -> Iterator[Flaw]:
    """The flaw if a number, or the length of a text, is out of its bounds."""
    is_text = isinstance(value, str)
    if not is_text and not _IS["number"](value):
        return
    size = len(value) if is_text else value
    for word, is_out, says in _BOUNDS[is_text]:
        bound = schema.get(word)
        if _IS["number"](bound) and is_out(size, bound):
            yield Flaw(place, f"{says} {shown(bound)}{' characters are' if is_text else ' is'} allowed")


_BOUNDS: dict[bool, list[tuple[str, Callable[[Any, Any], bool], str]]] = {
    False: [
        ("minimum", lambda size, bound: size < bound, "at least"),
        ("maximum", lambda size, bound: size > bound, "at most"),
        ("exclusiveMinimum", lambda size, bound: size <= bound, "more than"),
        ("exclusiveMaximum", lambda size, bound: size >= bound, "less than"),
    ],
    True: [
        ("minLength", lambda size, bound: size < bound, "at least"),
        ("maxLength", lambda size, bound: size > bound, "at most"),
    ],
}
