"""Hides the values of fields that hold secrets, in everything that a page or the API shows of a task.

A value is hidden if its field has the name of a secret. The name may be a key of JSON. It may also stand in a text, as
`name=value`, `name: value` or quoted JSON: in messages, errors and tracebacks. A secret without a name is only found if
its form is known (`secret_forms`).

Producers write the texts that are read here. So the time is linear, long texts are cut before they are read, and a
value that is nested too deeply is replaced by a remark: no value makes a page or a list fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, TypeGuard
from urllib.parse import parse_qsl, unquote_plus, urlencode

import msgspec

from holdfast.core.published_handlers import PublishedHandler
from holdfast_config.secret_texts import mask
from holdfastd.web.queue import secret_forms
from holdfastd.web.queue.readings import as_read, is_odd, reading
from holdfastd.web.queue.secret_pairs import HIDDEN, NAMES, VALUES, Hidden, is_ordinary, pairs

# Writes *** in place of each secret found in a text: first in the raw text, then in its decoded reading.

# The finders run in this order. A finder does not see secrets that an earlier one has hidden.
_FINDERS: tuple[Callable[[str, Callable[[str], bool]], Iterable[Hidden]], ...] = (
    secret_forms.private_keys,
    secret_forms.parts,
    secret_forms.cookies,
    pairs,
    secret_forms.logins,
    secret_forms.driver_logins,
    secret_forms.flags,
    secret_forms.commands,
    secret_forms.worded,
    secret_forms.elements,
    secret_forms.keys,
    secret_forms.hooks,
    secret_forms.schemes,
)

# Most texts are an id, a time, a state or a name. The other finders need a sign, a quote or a space, and find nothing.
_SIMPLE_TEXT = re.compile(r"[\w.:-]*+", re.ASCII)
_FINDERS_IN_SIMPLE = (pairs, secret_forms.keys)


def without_values(text: str, hides: Callable[[str], bool]) -> str:
    """The text with *** for secrets: values whose name `hides` accepts, and secrets that are known by their form."""
    if _SIMPLE_TEXT.fullmatch(text):
        for find in _FINDERS_IN_SIMPLE if ":" in text else _FINDERS_IN_SIMPLE[1:]:
            text = _masked(text, find(text, hides))
        return text
    return _without_values(text, hides)


def _without_values(text: str, hides: Callable[[str], bool]) -> str:
    for find in _FINDERS:
        text = _masked(text, find(text, hides))
    if not is_odd(text):
        return text
    read = reading(text)
    for find in _FINDERS:
        if found := list(find(read.text, hides)):
            text = _masked(text, ((read.place(start), read.place(end), shown) for start, end, shown in found))
            read = reading(text)
    return text


def _masked(text: str, found: Iterable[Hidden]) -> str:
    """The text, in which each of these places is replaced by the text to show for it. Overlapping places are replaced
    as one."""
    pieces, at = list[str](), 0
    for start, end, shown in found:
        if start >= at:
            pieces += (text[at:start], shown)
        at = max(at, end)
    return "".join((*pieces, text[at:])) if pieces else text


ENCODINGS = 3  # times that a URL-encoded text is decoded and searched
DEEPEST = 120  # levels of nested values; a producer can send 100, and a text that is JSON adds its own levels
LONGEST = 1 << 20  # characters of one text that are read and shown
TOO_DEEP = "(nested too deeply to be shown)"
SHORT = 100  # characters of a name whose answer is cached
SHORT_NAMES = 1000  # cached names: the same names come again with each task
_NAMED_SCHEMAS = frozenset({"properties", "$defs"})
_EXAMPLES = frozenset({"default", "examples", "const"})
_ENCODED_PERCENT = re.compile(r"%(?:25)++(?=[0-9a-fA-F]{2})")  # however often
_SIMPLE_NAME = re.compile(r"[\w.-]{0,24}", re.ASCII)
_SPOKEN = "token"
_LIKE_A_KEY = re.compile(r"(?=\S*[A-Za-z])(?=\S*\d)\S{16,}")
_PART_BORDER = re.compile(r"[.:/\[\]]")
_WORD_BORDER = re.compile(r"[-_\s.:/\[\]]++|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Globs:
    """Patterns of names, in small letters. `names`: whole names (`pin`). `ends`: from `*end`. `last_words`: from
    `*_end`. `others`: the parts between the stars of all other patterns."""

    names: frozenset[str]
    ends: tuple[str, ...]
    last_words: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, patterns: Sequence[str]) -> _Globs:
        globs = [pattern.casefold().replace("-", "_").split("*") for pattern in patterns]
        ends = [parts[1] for parts in globs if len(parts) == 2 and not parts[0]]
        return cls(
            frozenset(_joined(*parts) for parts in globs if len(parts) == 1),
            tuple(_joined(end) for end in ends if not end.startswith("_")),
            tuple(_joined(end) for end in ends if end.startswith("_")),
            tuple(tuple(map(_joined, parts)) for parts in globs if len(parts) > 2 or (len(parts) > 1 and parts[0])),
        )

    def match(self, words: Sequence[str]) -> bool:
        name = "".join(words)
        return (
            name in self.names
            or name.endswith(self.ends)
            or (name.endswith(self.last_words) and self._ends_with_words(name, words))
            or any(_matches(parts, name) for parts in self.others)
        )

    def _ends_with_words(self, name: str, words: Sequence[str]) -> bool:
        borders = {*accumulate(map(len, words), initial=0)}
        return any(name.endswith(each) and len(name) - len(each) in borders for each in self.last_words)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Hides the values of fields whose names match a pattern. In a pattern, * stands for any letters, the case does not
    matter, and `_` also stands for `-` or nothing. `*_pass` matches names whose last word is `pass`: `db_pass` or
    `dbPass`, but not `compass`."""

    patterns: tuple[str, ...]
    _globs: _Globs = field(init=False)
    _hides_short: Callable[[str], bool] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_globs", _Globs.of(self.patterns))
        object.__setattr__(self, "_hides_short", lru_cache(SHORT_NAMES)(self._fits))

    @classmethod
    @cache
    def of(cls, patterns: tuple[str, ...]) -> Redaction:
        return cls(patterns)

    @property
    def of_parts(self) -> Redaction:
        """The redaction of emitted parts, with the same patterns."""
        return PartRedaction.of(self.patterns)

    def hides(self, name: object) -> bool:
        """True if the value of a field with this name is hidden."""
        if not isinstance(name, str):
            return False
        return self._hides_short(name) if len(name) <= SHORT else self._fits(name)

    def value(self, value: Any) -> Any:
        """The JSON value with *** for each secret in it."""
        return self._value(value, DEEPEST, ENCODINGS)

    def _value(self, value: Any, deeper: int, encodings: int) -> Any:
        if isinstance(value, str):
            return self._text(value, deeper, encodings)
        if not deeper and isinstance(value, Mapping | list | tuple):
            return TOO_DEEP
        if _is_object(value):
            return self._object(value, deeper - 1, encodings)
        return self._list(value, deeper - 1, encodings) if _is_list(value) else value

    def _list(self, value: Sequence[Any], deeper: int, encodings: int) -> list[Any]:
        """A list without secrets. Also hidden are the word behind a secret flag of a command line, and the value of a
        secret header in a list of pairs."""
        if deeper and _is_headers(value):
            return [self._pair(name, each, deeper, encodings) for name, each in value]
        shown, is_hidden = list[Any](), False
        for each in value:
            shown.append(HIDDEN if is_hidden else self._value(each, deeper, encodings))
            is_hidden = isinstance(each, str) and len(each) > 2 and each.startswith("-") and self.hides(each)
        return shown

    def _pair(self, name: str, value: Any, deeper: int, encodings: int) -> list[Any]:
        is_hidden = self._hides_value(name, value)
        return [self._text(name, deeper, encodings), HIDDEN if is_hidden else self._value(value, deeper - 1, encodings)]

    def _object(self, value: Mapping[str, Any], deeper: int, encodings: int) -> dict[str, Any]:
        """An object without secrets. `{"name": "Cookie", "value": "…"}` counts as a field `Cookie`, because some tools
        write the headers of a request in this form."""
        hiding = [each for name, each in value.items() if str(name).lower() in NAMES and self.hides(each)]
        shown: dict[str, Any] = {}
        for number, (name, each) in enumerate(value.items(), 1):
            is_hidden = self._hides_value(name, each) or (
                str(name).lower() in VALUES and any(self._hides_of_pair(of, each) for of in hiding)
            )
            key = self._key(name)
            key = (
                key if key == name or key not in shown else f"{key} ({number})"
            )  # two names may become the same when secrets in them are hidden
            shown[key] = HIDDEN if is_hidden else self._value(each, deeper, encodings)
        return shown

    def _hides_value(self, name: object, value: Any) -> bool:
        if value is None or not self.hides(name):
            return False
        return not (isinstance(value, str | int | float) and is_ordinary(str(name), str(value)))

    def _hides_of_pair(self, name: object, value: Any) -> bool:
        return value is not None

    def _key(self, name: Any) -> Any:
        return self.text(name) if isinstance(name, str) and not _SIMPLE_NAME.fullmatch(name) else name

    def handler(self, handler: PublishedHandler) -> PublishedHandler:
        """The published handler without the defaults of secret arguments."""
        return msgspec.structs.replace(handler, arguments=self.schema(handler.arguments))

    def schema(self, schema: Any) -> Any:
        """The JSON schema of arguments, with *** for the defaults and examples of secret arguments."""
        return self._schema(schema, DEEPEST)

    def _schema(self, schema: Any, deeper: int) -> Any:
        if not deeper:
            return TOO_DEEP
        if _is_list(schema):
            return [self._schema(each, deeper - 1) for each in schema]
        if _is_object(schema):
            return {name: self._keyword(name, each, deeper - 1) for name, each in schema.items()}
        return schema

    def _fits(self, name: str) -> bool:
        """True if the reading of the name matches a pattern, as a whole or by its last part (`pin` of `user[pin]`)."""
        for _ in range(ENCODINGS if "%" in name else 0):
            name = unquote_plus(name)
        plain = as_read(name)
        last = next(filter(None, reversed(_PART_BORDER.split(plain))), "")
        return any(self._globs.match(_words(each)) for each in {plain, last})

    def _keyword(self, name: str, value: Any, deeper: int) -> Any:
        if name in _NAMED_SCHEMAS and _is_object(value):
            return {field: self._of_field(field, each, deeper) for field, each in value.items()}
        return self.value(value) if name in _EXAMPLES else self._schema(value, deeper)

    def _of_field(self, field: str, schema: Any, deeper: int) -> Any:
        shown = self._schema(schema, deeper)
        if not (self.hides(field) and _is_object(shown)):
            return shown
        return {name: HIDDEN if name in _EXAMPLES else each for name, each in shown.items()}

    def text(self, text: str) -> str:
        """The text with *** for each secret in it. A text that is JSON stays JSON. A text with secrets in its URL
        encoding is shown decoded. A text longer than LONGEST is cut, and says how much is left out."""
        return self._text(text, DEEPEST, ENCODINGS)

    def _text(self, text: str, deeper: int, encodings: int) -> str:
        if len(text) > LONGEST:
            return f"{self._text(text[:LONGEST], deeper, encodings)}… ({len(text) - LONGEST} characters more)"
        shown = decoded = self._plain(text, deeper, encodings)
        while encodings and "%" in decoded and _document(decoded) is None:
            encodings -= 1
            before = unquote_plus(decoded if encodings else _ENCODED_PERCENT.sub("%", decoded))
            decoded = self._plain(before, deeper, encodings)
            if decoded != before:
                shown = decoded
        return shown

    def _plain(self, text: str, deeper: int, encodings: int) -> str:
        """The text without secrets, like `_text`, but without decoding it. If the text is JSON, each text in it is
        searched by itself."""
        document = _document(text) if deeper else None
        if document is None:
            return mask(without_values(text, self.hides))
        shown = self._value(document, deeper, encodings)
        if shown == document:
            return text
        spelled = _spelled(shown)
        return spelled if TOO_DEEP not in spelled else mask(without_values(text, self.hides))

    def query(self, query: str) -> str:
        """The query of a URL with *** for each secret value."""
        shown = [(name, HIDDEN if self.hides(name) else self.text(value)) for name, value in parse_qsl(query)]
        return urlencode(shown, safe="*")

    def restored(self, edited: Any, original: Any) -> Any:
        """The edited value with its secrets put back. A user has edited the answer of `value(original)`; each *** that
        is unchanged gets its value from `original`. Raises ValueError if a *** was moved or changed."""
        return self._restored(edited, original, self.value(original), DEEPEST)

    def _restored(self, edited: Any, original: Any, shown: Any, deeper: int) -> Any:
        if isinstance(edited, str):
            return original if edited == shown else _without_hidden(edited, original)
        if not deeper and isinstance(edited, Mapping | list):
            raise ValueError(f"the value has more than {DEEPEST} nested levels")
        if _is_object(edited):
            names: dict[str, str] = dict(zip(shown, original, strict=True)) if _is_object(shown) else {}
            before: Mapping[str, Any] = original if names else {}
            return {
                (own := names.get(name, name)): self._restored(
                    each, before.get(own), shown[name] if name in names else None, deeper - 1
                )
                for name, each in edited.items()
            }
        if _is_list(edited):
            pairs = list(zip(original, shown, strict=True)) if _is_list(shown) else []
            same = pairs if len(pairs) == len(edited) else [(None, None)] * len(edited)
            return [self._restored(each, *pair, deeper - 1) for each, pair in zip(edited, same, strict=True)]
        return edited


@dataclass(frozen=True, slots=True)
class PartRedaction(Redaction):
    """Hides the secrets of an emitted part. A model's stream is made of tokens: so in a part a field named `token` does
    not hide its value by its name. A text without spaces that has 16 or more characters, letters and digits among them,
    is hidden there all the same, because no token of a language looks like this. If the patterns have the whole name
    `token`, each such field is hidden."""

    def _hides_value(self, name: object, value: Any) -> bool:
        return Redaction._hides_value(self, name, value) and not self._is_spoken(name, value)

    def _hides_of_pair(self, name: object, value: Any) -> bool:
        return Redaction._hides_of_pair(self, name, value) and not self._is_spoken(name, value)

    def _is_spoken(self, name: object, value: Any) -> bool:
        """True for a token of a language: a piece of text, its number, or an object that describes it."""
        if str(name).lower() != _SPOKEN or _SPOKEN in self._globs.names:
            return False
        return not (isinstance(value, str) and _LIKE_A_KEY.fullmatch(value))


def _without_hidden(edited: str, original: Any) -> str:
    """The edited text, unchanged. Raises ValueError if this text has a *** that the original does not have."""
    for remark in (HIDDEN, TOO_DEEP):
        if edited.count(remark) > str(original).count(remark):
            raise ValueError(
                f"a changed field still contains {remark}, which stands for a hidden value: write the whole new value, "
                "or leave the field unchanged"
            )
    return edited


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def _is_headers(value: Sequence[Any]) -> TypeGuard[Sequence[Sequence[str]]]:
    """True for a list of pairs of a name and a value."""
    return bool(value) and all(_is_list(each) and len(each) == 2 and isinstance(each[0], str) for each in value)


def _joined(part: str) -> str:
    return part.replace("_", "")


def _words(name: str) -> list[str]:
    """The words of a name in small letters. A number at the end of the name is left out."""
    words = [word.casefold() for word in _WORD_BORDER.split(name)]
    return words if name.isdigit() else [*words[:-1], words[-1].rstrip("0123456789")]


def _matches(parts: Sequence[str], name: str) -> bool:
    """True if the name has these parts in this order, the first at its beginning and the last at its end."""
    first, *rest = parts
    if not name.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        if (found := name.find(part, at)) < 0:
            return False
        at = found + len(part)
    return len(name) - len(rest[-1]) >= at and name.endswith(rest[-1])


def _document(text: str) -> Any:
    """The JSON object or list in the text. None for any other text, for JSON that is nested too deeply, and for an
    object that has a name twice."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        return None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has the same name twice")
    return found


def _spelled(document: Any) -> str:
    """The value as JSON text. If it has a lone surrogate, which no page can show, all non-ASCII is escaped."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(document)
    return text
