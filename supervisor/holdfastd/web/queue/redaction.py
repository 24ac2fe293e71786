"""Hides the values of fields that hold secrets, in everything that a page or the API shows of a task.

A field is hidden by its name, wherever the name stands: as a key of JSON, or in a text as `name=value`,
`name: value` or quoted JSON, as in messages, errors and tracebacks. A secret that stands alone in a text has no name
and is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, TypeGuard
from urllib.parse import parse_qsl, unquote_plus, urlencode

import msgspec

from holdfast.core.published_handlers import PublishedHandler
from holdfast_config.secret_texts import HIDDEN, mask

# Behind the name and its sign: a quoted text (its quotes may be escaped), an object, a list, or a word.
_VALUE = (
    r"""(\\+(["']).*?(?:\\+\3|\Z)|[bBrRuUfF]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|\{[^{}]*\}?|\[[^\[\]]*\]?"""
    r"""|(?:(?:Bearer|Basic|Digest|Token)[ ]+)?[^\s,;&|)}\]"'<>\\]+)"""
)
ENCODINGS = 3  # of a text in an address, one around the other, that are looked through
SHORT = 100  # characters of a name that is kept with its answer
SHORT_NAMES = 1000  # of these are kept: the same ones come again with each task
_NAMED_SCHEMAS = frozenset({"properties", "$defs"})
_EXAMPLES = frozenset({"default", "examples", "const"})
_QUOTE_OR_BRACKET = re.compile(r"""(\\*["'])|[{}\[\]()]""")
_OPENING = re.compile(r"[{\[(]")
_QUOTED = re.compile(r"""([A-Za-z]{0,2}\\*["'])(.*?)(\\*["'])?""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Redaction:
    """`patterns`: names of fields in lower case, with * for any letters; `_` is also `-`, or nothing."""

    patterns: tuple[str, ...]
    _name: re.Pattern[str] | None = field(init=False)
    _named: re.Pattern[str] | None = field(init=False)
    _hides_short: Callable[[str], bool] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        names = "|".join(map(_expression, self.patterns))
        sign = r"""(?:\\*["'])?\]?[ \t]*(?:=>|[:=]|%3[AD])(?:\s*(?=\\*["'{\[(])|[ \t\xa0]*)"""
        whole = re.compile(rf"(?:{names})", re.IGNORECASE) if names else None
        named = re.compile(rf"(?<![\w-])((?:{names})(?![\w-]){sign}){_VALUE}", re.IGNORECASE | re.DOTALL)
        object.__setattr__(self, "_name", whole)
        object.__setattr__(self, "_named", named if names else None)
        object.__setattr__(self, "_hides_short", lru_cache(SHORT_NAMES)(self._fits))

    @classmethod
    @cache
    def of(cls, patterns: tuple[str, ...]) -> Redaction:
        return cls(patterns)

    def hides(self, name: object) -> bool:
        """True if the value of a field of this name is hidden."""
        if self._name is None or not isinstance(name, str):
            return False
        return self._hides_short(name) if len(name) <= SHORT else self._fits(name)

    def value(self, value: Any) -> Any:
        """The value of JSON with *** for what is hidden in it."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, int | float):
            return value
        if _is_object(value):
            return {
                name: HIDDEN if self.hides(name) and each is not None else self.value(each)
                for name, each in value.items()
            }
        if _is_list(value):
            return [self.value(each) for each in value]
        return value

    def handler(self, handler: PublishedHandler) -> PublishedHandler:
        """A handler as its workers have published it, without the defaults of hidden arguments."""
        return msgspec.structs.replace(handler, arguments=self.schema(handler.arguments))

    def schema(self, schema: Any) -> Any:
        """A JSON schema of arguments, with *** for the defaults and examples of what is hidden."""
        if _is_list(schema):
            return [self.schema(each) for each in schema]
        return {name: self._keyword(name, each) for name, each in schema.items()} if _is_object(schema) else schema

    def _fits(self, name: str) -> bool:
        return self._name is not None and self._name.fullmatch(name) is not None

    def _keyword(self, name: str, value: Any) -> Any:
        if name in _NAMED_SCHEMAS and _is_object(value):
            return {field: self._of_field(field, each) for field, each in value.items()}
        return self.value(value) if name in _EXAMPLES else self.schema(value)

    def _of_field(self, field: str, schema: Any) -> Any:
        shown = self.schema(schema)
        if not (self.hides(field) and _is_object(shown)):
            return shown
        return {name: HIDDEN if name in _EXAMPLES else each for name, each in shown.items()}

    def text(self, text: str) -> str:
        """The text with *** for what is hidden in it. A text that is JSON stays JSON. One that hides something only in
        its URL encoding is shown without that."""
        shown = decoded = self._of_plain(text)
        for _ in range(ENCODINGS):
            if "%" not in decoded:
                break
            before = unquote_plus(decoded)
            decoded = self._of_plain(before)
            if decoded != before:
                shown = decoded
        return shown

    def _of_plain(self, text: str) -> str:
        if self._named is None or not (":" in text or "=" in text):
            return mask(text)
        if text.lstrip()[:1] in ("{", "[") and (document := _document(text)) is not None:
            shown = self.value(document)
            return text if shown == document else json.dumps(shown, ensure_ascii=False)
        return mask("".join(_without_values(self._named, text)))

    def query(self, query: str) -> str:
        """The query of an address with *** for what is hidden in its values."""
        shown = [(name, self.text(value)) for name, value in parse_qsl(query)]
        return urlencode(shown, safe="*")

    def restored(self, edited: Any, original: Any) -> Any:
        """`edited`, made from what `value` has shown of `original`, with each value that is still hidden in it as it
        was. Raises ValueError for a hidden value whose place or text has changed."""
        if _is_object(edited):
            before: Mapping[str, Any] = original if _is_object(original) else {}
            return {
                name: before[name]
                if each == HIDDEN and self.hides(name) and name in before
                else self.restored(each, before.get(name))
                for name, each in edited.items()
            }
        if _is_list(edited):
            earlier: Sequence[Any] = original if _is_list(original) else ()
            same = len(earlier) == len(edited)
            return [self.restored(each, earlier[place] if same else None) for place, each in enumerate(edited)]
        return self._restored_text(edited, original) if isinstance(edited, str) else edited

    def _restored_text(self, edited: str, original: Any) -> str:
        if isinstance(original, str) and edited == self.text(original):
            return original
        if HIDDEN in edited and edited.count(HIDDEN) > str(original).count(HIDDEN):
            raise ValueError(f"a hidden value ({HIDDEN}) stands in what was changed: write the value itself")
        return edited


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def _expression(pattern: str) -> str:
    """A glob as a regular expression. The bounds keep a search in a long text linear."""
    return re.escape(pattern).replace(r"\*", r"[\w.-]{0,60}").replace(r"\-", "_").replace("_", "[-_]?")


def _without_values(named: re.Pattern[str], text: str) -> Iterator[str]:
    """The text in pieces, with *** for each value behind a hidden name."""
    at = 0
    while match := named.search(text, at):
        quoted = _QUOTED.fullmatch(match[2])
        yield text[at : match.end(1)]
        yield f"{quoted[1]}{HIDDEN}{quoted[3] or ''}" if quoted else HIDDEN
        opening = None if quoted else _OPENING.search(match[2])
        at = _end_of_brackets(text, match.start(2) + opening.start()) if opening else match.end()
    yield text[at:]


def _end_of_brackets(text: str, start: int) -> int:
    """The place behind the bracket that closes the one at `start`; the end of the text where none does."""
    depth, open_quote = 0, None
    for match in _QUOTE_OR_BRACKET.finditer(text, start):
        if quote := match[1]:
            open_quote = quote if open_quote is None else None if quote == open_quote else open_quote
        elif open_quote is None:
            depth += 1 if match[0] in "{[(" else -1
            if depth == 0:
                return match.end()
    return len(text)


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
