"""Finds pairs of a name and a value in a text, and the end of each value: `name=value`, `name: value`, JSON in any
spelling, headers, connection strings, queries.

Anybody can write the text, so the time must be linear. Two rules make it linear. First, patterns are possessive (`++`,
`*+`) or begin behind a character that they cannot match: no character is tried twice at one place. Second, the search
goes on at the end of a hidden value, never inside it.

If a value may end at two places, the later one counts: to hide one word too many is better than to show a part of a
secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

HIDDEN = "***"

# The groups: the beginning of a line, if the name is its first word; the first of two words of a name; the name; the
# quote or bracket that closes it; the sign between name and value.
_PAIR = re.compile(
    r"""(?P<line>(?m:^)[ \t>*]*+(?:-[ \t]++)?+)?+(?P<around>(?<!\\)\\*+["'`])?+"""
    r"""(?<![\w.-])(?:(?P<before>[\w.-]++)[ ](?=(?i:key|keys|id|phrase|word)\b))?+(?P<name>[\w.-]++)"""
    r"""(?:\[(?P<index>[\w-]*+)\])?+"""
    r"""(?P<closing>\\*+["'`]?+\]?+)(?P<space>[ \t\xa0]*+)"""
    r"""(?P<sign>[!~+?|]{0,2}+[:=][:=>~]*+|(?:-++|(?<=-))>|<-++|,(?=\s*+[bBuU]?+\\*+["'])|(?<=[ \t])(?=["']))"""
    r"""(?P<later>[ \t\xa0]*+)"""
)
_WORD = re.compile(r"""\\*+["'`]?+((?:[\w.-]++[ ])?+[\w.-]++)""")
_SIGN = re.compile(r"[ \t]*+(?:[:=]|->)")
# `name: Cookie, value: …` is a pair as well, in either order. These are the keys of names and the keys of values.
NAMES = frozenset({"name", "key", "header", "field", "param", "parameter", "variable", "property", "label", "k"})
VALUES = frozenset({"value", "val", "content", "data", "values", "string", "v"})
_OTHER_OBJECT = re.compile(r"[})]|\n[ \t]*+-")
# The indented lines below a header, or below a name in YAML, which may have a tag.
_FOLDED = re.compile(r"(?:[!&]\S*+[ \t]*+)*+(?:[|>][0-9+-]{0,2})?+(?:(?:[ \t]*+\r?\n)++[ \t]++[^\s][^\r\n]*+)++")
# The items of a list of YAML, which need not be indented.
_ITEMS = re.compile(r"(?:[ \t]*+\r?\n[ \t]*+-[ \t][^\r\n]*+)++")
_SCHEME = re.compile(
    r"(?:bearer|basic|token|digest|negotiate|ntlm|api-?key)[ \t]++"
    r"(?=[^\s,;&|)}\]])(?![\w.-]++[ \t]*+[:=](?!=*+(?:\s|$)))",
    re.IGNORECASE,
)
# Names that are also ordinary words, and their ordinary values: counts, switches, schemes, states.
_WORDS = frozenset({"pass", "auth", "session", "sid"})
_WORD_BORDER = re.compile(r"[^A-Za-z]|(?<=[a-z])(?=[A-Z])")
SHORT_NAME, LONGEST_ORDINARY = 20, 40  # characters: of the end of a name that is checked; of an ordinary value
_ORDINARY = re.compile(
    r"[+-]?\d{1,3}%?(?:\s*(?:/|of)\s*\d{1,4}%?)?|true|false|null|none|nil|undefined|yes|no|on|off|ok|basic|bearer|digest|"
    r"negotiate|ntlm|oauth2?|required|optional|missing|failed|expired|invalid|closed|open(?:ed)?|active|ended|started|",
    re.IGNORECASE,
)
_NEXT_PAIR = re.compile(r"""[,;&|]\s*+\\*+["'`]?+[\w.-]++\\*+["'`]?+\]?+[ \t]*+[:=]""")
_LATER = re.compile(r"""\s*+(?=[bBrRuUfF]{0,2}\\*+["'`{\[(])""")
_QUOTED = re.compile(r"""([bBrRuUfF]{0,2}(\\*+)(["'`]))""")
_CLOSING = {quote: re.compile(rf"(?<!\\)(\\*+){quote}") for quote in "\"'`"}
_CLOSING_OR_LINE_END = {quote: re.compile(rf"(?<!\\)(\\*+){quote}|[\r\n\x85\u2028\u2029]") for quote in "\"'`"}
_QUOTE_OR_BRACKET = re.compile(r"""((?<!\\)\\*+["'`])|[{}\[\]()]""")
_WORD_END = re.compile(r"[\s,;&|{\[(]")
_LINE_END = re.compile(r"[\r\n\x85\u2028\u2029]")
_IN_LINE_END = re.compile(r"[\r\n\x85\u2028\u2029,;&|]")
_CLOSED = re.compile(r"""\\*+["'`](?:[\s,;&|)}\]>:]|$)""")
_GOES_ON = re.compile(r"""["'`]?\w""")  # a word that begins with quotes, as the shell has it
_OPENED = re.compile(r"[(][bBuU]?")
_CLOSED_TUPLE = re.compile(r"\s*+,?+\s*+[)]")
_CLOSERS = " \t,;.&|)}]>\"'`\\"
_ANNOTATED = re.compile(r"(?:[ \t]*+\|[ \t]*+[\w.\[\]]++)*+[ \t]*+=(?!=)[ \t]*+")  # `password: str | None = "…"`
_WHOLE_LINES = ("authorization", "cookie", "cookies")  # ends of the names of headers whose value has several words


@dataclass(frozen=True, slots=True)
class _Found:
    """A pair of a name and a value. `start`: where the value begins. `around`: the quote that opens the whole pair;
    empty for none."""

    name: str
    start: int
    sign: str
    around: str
    opens_line: bool
    is_spaced: bool
    is_quoted: bool

    @property
    def is_header(self) -> bool:
        return self.name.lower().endswith(_WHOLE_LINES)


Hidden = tuple[int, int, str]  # where a secret begins and ends, and the text to show in its place


def pairs(text: str, hides: Callable[[str], bool]) -> list[Hidden]:
    """The values whose names `hides` accepts, in the order of the text."""
    return sorted(_pairs(text, hides))


def is_ordinary(name: str, value: str) -> bool:
    """True if the name is also an ordinary word and the value is no secret: `pass=3 fail=2`."""
    if len(value) > LONGEST_ORDINARY:
        return False
    last = _WORD_BORDER.split(name.rstrip("-_ ")[-SHORT_NAME:])[-1]
    return last.lower() in _WORDS and _ORDINARY.fullmatch(value.strip(" \t\"'`\\,;.")) is not None


def _pairs(text: str, hides: Callable[[str], bool]) -> Iterator[Hidden]:
    """The values whose names `hides` accepts, as they are found. `named`: in `name: Cookie, value: …`, the position
    behind the name if it hides the value. `held`: the value, if it stands before the name."""
    place, named, held = 0, None, None
    while match := _PAIR.search(text, place):
        place = match.end()
        found = _found(match)
        is_hidden = any(map(hides, _names(match)))
        if match["sign"] == "," and not (is_hidden and _is_tuple(text, found, match.start("around"))):
            continue
        key = match["name"].lower()
        if key in NAMES:
            word = _WORD.match(text, place)
            named = place if word and hides(word[1]) else None
            if named and held and (hidden := _held(text, held, match.start("name"))):
                yield hidden
                place = max(place, hidden[1])
            held = None
        elif key in VALUES:
            held = found
            named = named if named and not _OTHER_OBJECT.search(text, named, match.start("name")) else None
            is_hidden = is_hidden or named is not None
        if is_hidden and (hidden := _hidden(text, found)):
            yield hidden
            place = hidden[1]
        named = named and place


def _names(match: re.Match[str]) -> Iterator[str]:
    yield match["name"]
    if match["index"]:
        yield match["index"]
    if match["before"]:
        yield f"{match['before']} {match['name']}"


def _hidden(text: str, found: _Found) -> Hidden | None:
    start, shown, end = _value(text, found)
    return (start, end, shown) if end > start and not is_ordinary(found.name, text[start:end]) else None


def _held(text: str, held: _Found, name: int) -> Hidden | None:
    """The value `held` of an object in which the name, at position `name`, comes after the value; None if that name
    belongs to another object."""
    start, shown, end = _value(text, held)
    return (start, end, shown) if end > start and not _OTHER_OBJECT.search(text, end, name) else None


def _is_tuple(text: str, found: _Found, opening: int) -> bool:
    """True if a quoted name, a comma and a quoted text are a name and its value. In parentheses, as `("token", "x")`,
    any name counts; elsewhere only the name of a header or of a flag. `opening`: the position of the quote before the
    name. Only the next closing quote is searched, because the search may go on behind the name."""
    before = max(0, opening - 2)
    is_first = _OPENED.fullmatch(text, before + (text[before : before + 1] != "("), opening) is not None
    is_header = found.is_header or found.name.startswith("--")
    if not (found.is_quoted and (is_first or is_header)):
        return False
    later = _LATER.match(text, found.start)
    quoted = _QUOTED.match(text, later.end() if later else found.start)
    closing = _CLOSING[quoted[3]].search(text, quoted.end()) if quoted else None
    if quoted is None or closing is None:
        return is_header
    return not _SIGN.match(text, closing.end()) if is_header else _CLOSED_TUPLE.match(text, closing.end()) is not None


def _found(match: re.Match[str]) -> _Found:
    around, sign = match["around"] or "", match["sign"]
    is_quoted = bool(around) and match["closing"].startswith(around)
    return _Found(
        match["name"],
        match.end(),
        sign,
        "" if is_quoted else around,
        opens_line=match["line"] is not None and not around,
        is_spaced=sign.startswith(":") or bool(match["space"] and match["later"]),
        is_quoted=is_quoted,
    )


def _value(text: str, found: _Found) -> tuple[int, str, int]:
    """Where the value begins, the text to show in its place, and where it ends."""
    start = found.start
    if found.opens_line and (folded := _FOLDED.match(text, start) or _ITEMS.match(text, start)):
        return start, HIDDEN, folded.end()
    if found.is_header and found.sign.startswith(":") and not found.is_quoted:
        end = _end_of_line(text, start, found.around)
        folded = _FOLDED.match(text, end) if found.opens_line else None
        return start, HIDDEN, folded.end() if folded else end
    if later := _LATER.match(text, start):
        start = later.end()
    if found.around and _CLOSED.match(text, start) and text.startswith(found.around, start):
        return start, "", start  # nothing stands between the sign and the quote that closes the pair
    if quoted := _QUOTED.match(text, start):
        end, closing = _end_of_quoted(text, quoted)
        return start, f"{quoted[1]}{HIDDEN}{closing}", end
    return start, HIDDEN, _end_of_bare(text, start, found)


def _end_of_bare(text: str, start: int, found: _Found) -> int:
    """The end of a value without quotes. Some of these values have several words."""
    scheme = _SCHEME.match(text, start)
    end = _end_of_word(text, scheme.end() if scheme else start)
    while annotated := _ANNOTATED.match(text, end):
        if quoted := _QUOTED.match(text, annotated.end()):
            return _end_of_quoted(text, quoted)[0]
        end = _end_of_word(text, annotated.end())
    if found.is_header and not found.is_quoted and text[end : end + 1] != "&":
        return _end_of_line(text, start, found.around)
    return _end_of_first(text, end) if found.opens_line and found.is_spaced else end


def _end_of_quoted(text: str, opening: re.Match[str]) -> tuple[int, str]:
    """Where a quoted value ends, and its closing quote. In a quoted document the quotes are escaped. A quote with as
    many backslashes as the opening quote closes the value; a quote with fewer ends the document. A quote with more
    backslashes is part of the value."""
    depth, quote, at = len(opening[2]), opening[3], opening.end()
    while match := _CLOSING[quote].search(text, at):
        at, slashes = match.end(), len(match[1])
        if slashes < depth:
            return match.start(), ""
        if depth:
            if slashes == depth:
                return at, match[0]
        elif slashes % 2 == 0:
            if text[at : at + 1] == quote:  # a doubled quote stands for one quote in the value
                at += 1
            else:
                return _end_of_word(text, at) if _GOES_ON.match(text, at) else at, quote
    return len(text), ""


def _end_of_word(text: str, start: int) -> int:
    """The end of a value without quotes. A comma or the like ends the value only before a space or another pair.
    Brackets in the value are passed as a whole. Closing brackets and quotes at the end do not belong to the value."""
    at = kept = start
    while match := _WORD_END.search(text, at):
        at = match.start()
        if match[0] in "{[(":
            at = kept = _end_of_brackets(text, at)
        elif (
            match[0] in " \t" and at > start and text[at - 1] == "\\"
        ):  # an escaped space: for a shell it is part of the word
            at += 1
        elif match[0].isspace() or text[at + 1 : at + 2].isspace() or _NEXT_PAIR.match(text, at):
            break
        else:
            at += 1
    else:
        at = len(text)
    stripped = at
    while stripped > kept and text[stripped - 1] in _CLOSERS:
        stripped -= 1
    return stripped if stripped > start else at


def _end_of_first(text: str, start: int) -> int:
    """The end of the line, or the position before the next pair in the line."""
    at = start
    while match := _IN_LINE_END.search(text, at):
        at = match.start()
        if match[0] not in ",;&|" or _NEXT_PAIR.match(text, at):
            return at
        at += 1
    return len(text)


def _end_of_line(text: str, start: int, around: str) -> int:
    """The end of a value that takes the rest of its line, or ends before the quote that closes the whole pair."""
    if not around:
        match = _LINE_END.search(text, start)
        return match.start() if match else len(text)
    at, depth = start, len(around) - 1
    while (match := _CLOSING_OR_LINE_END[around[-1]].search(text, at)) is not None:
        if match[1] is None:  # the line ends
            return match.start()
        slashes = len(match[1])
        if slashes == depth or (depth == 0 and slashes % 2 == 0) or slashes < depth:
            return match.start()
        at = match.end()
    return len(text)


def _end_of_brackets(text: str, start: int) -> int:
    """The position behind the bracket that closes the one at `start`; the end of the text if none does."""
    depth, open_quote = 0, None
    for match in _QUOTE_OR_BRACKET.finditer(text, start):
        if quote := match[1]:
            open_quote = quote if open_quote is None else None if quote == open_quote else open_quote
        elif open_quote is None:
            depth += 1 if match[0] in "{[(" else -1
            if depth == 0:
                return match.end()
    return len(text)
