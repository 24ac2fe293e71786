"""Finds pairs of a name and a value in a text, and the end of each value: `name=value`, `name: value`, JSON in any
spelling, headers, connection strings, queries.

Anybody can write the text, so the time must be linear. Two things make it so. First, each pattern is possessive (`++`,
`*+`) or begins behind a character that it cannot match: no character is tried twice at one place. Second, a value is
left behind as a whole, and the search goes on at its end.

Where the end of a value cannot be known, the later one counts: it is better to hide a word too many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

HIDDEN = "***"

# The beginning of a line, if the name is its first word; the name; what closes a quoted name or an index; the sign.
_PAIR = re.compile(
    r"""((?m:^)[ \t>*]*+(?:-[ \t]++)?+)?+((?<!\\)\\*+["'`])?+(?<![\w.-])([\w.-]++)"""
    r"""(?:\[([\w-]*+)\])?+(\\*+["'`]?+\]?+)([ \t\xa0]*+)([:=][:=>]*+|,(?=\s*+[bBuU]?+\\*+["'])|(?<=[ \t])(?=["']))"""
    r"""([ \t\xa0]*+)"""
)
_FLAG = re.compile(r"""(?<![\w-])(--[\w.-]++)([ \t]++)("[^"]*+"?+|'[^']*+'?+|[^\s-]\S*+)""")  # of a command line
_ELEMENT = re.compile(r"(<(?:[\w.-]++:)?+([\w.-]++)(?:\s[^<>]*+)?+>(?:<!\[CDATA\[)?+)([^<]++)")  # of XML
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?+-----).*?(?:(?=-----END)|\Z)", re.DOTALL)
_WORD = re.compile(r"""\\*+["'`]?+([\w.-]++)""")
_SIGN = re.compile(r"[ \t]*+[:=]")
_NAMES = frozenset({"name", "key"})  # `name: Cookie, value: …` is a pair as well
_FOLDED = re.compile(
    r"(?:[|>][0-9+-]{0,2})?+[ \t]*+(?:\r?\n[ \t]++[^\r\n]++)++"
)  # the lines below, if they are indented
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
_CLOSERS = " \t,;.&|)}]>\"'`\\"
_ANNOTATED = re.compile(r"(?:[ \t]*+\|[ \t]*+[\w.\[\]]++)*+[ \t]*+=(?!=)[ \t]*+")  # `password: str | None = "…"`
_LOGIN = re.compile(r"""((?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+)?+://([^\s/?#"'`<>\\]*+)""")
_ODD_LOGIN = re.compile(r"""[^\s"'`<>@\\]{0,256}@""")  # behind a password with a slash
_PORT = re.compile(r"[0-9]*+")
_WHOLE_LINES = ("authorization", "cookie", "cookies")  # ends of the names of headers whose value has several words


@dataclass(frozen=True, slots=True)
class _Found:
    """A pair with a hidden name. `start`: of its value. `around`: the quote before an unquoted name, empty for none."""

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


def without_values(text: str, hides: Callable[[str], bool]) -> str:
    """The text with *** for each value whose name `hides`, and for each login in an address."""
    if "PRIVATE KEY" in text and hides("private_key"):
        text = _PRIVATE_KEY.sub(rf"\1{HIDDEN}", text)
    shown = "".join(_without_logins("".join(_pieces(text, hides))))
    if "--" in shown:
        shown = _FLAG.sub(lambda flag: f"{flag[1]}{flag[2]}{HIDDEN}" if hides(flag[1]) else flag[0], shown)
    if "<" in shown:
        shown = _ELEMENT.sub(lambda found: f"{found[1]}{HIDDEN}" if hides(found[2]) else found[0], shown)
    return shown


def _pieces(text: str, hides: Callable[[str], bool]) -> Iterator[str]:
    at, place, named = 0, 0, ""
    while match := _PAIR.search(text, place):
        place = match.end()
        if match[7] == "," and not _is_tuple(text, _found(match)):
            continue
        short = match[3].lower()
        names = match[3], match[3].rpartition(".")[2], match[4], named if short == "value" else ""
        word = _WORD.match(text, place) if short in _NAMES else None
        named = word[1] if word else ""
        if not any(map(hides, filter(None, names))):
            continue
        start, shown, end = _value(text, _found(match))
        if end > start:
            yield text[at:start]
            yield shown
            at = place = end
    yield text[at:]


def _is_tuple(text: str, found: _Found) -> bool:
    """True for two quoted texts, the name of a header or a flag and its value; the second may be a name itself."""
    if not (found.is_quoted and (found.is_header or found.name.startswith("--"))):
        return False
    later = _LATER.match(text, found.start)
    quoted = _QUOTED.match(text, later.end() if later else found.start)
    return quoted is not None and not _SIGN.match(text, _end_of_quoted(text, quoted)[0])


def _found(match: re.Match[str]) -> _Found:
    around, closing = match[2] or "", match[5]
    is_quoted = bool(around) and closing.startswith(around)
    return _Found(
        match[3],
        match.end(),
        match[7],
        "" if is_quoted else around,
        opens_line=match[1] is not None and not around,
        is_spaced=match[7].startswith(":") or bool(match[6] and match[8]),
        is_quoted=is_quoted,
    )


def _value(text: str, found: _Found) -> tuple[int, str, int]:
    """Where the value begins, what is shown of it, and where it ends."""
    start = found.start
    if found.opens_line and (folded := _FOLDED.match(text, start)):
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
    """The end of a value without quotes, of which some have several words."""
    end = _end_of_word(text, start)
    while annotated := _ANNOTATED.match(text, end):
        if quoted := _QUOTED.match(text, annotated.end()):
            return _end_of_quoted(text, quoted)[0]
        end = _end_of_word(text, annotated.end())
    if found.is_header and not found.is_quoted and text[end : end + 1] != "&":
        return _end_of_line(text, start, found.around)
    return _end_of_first(text, end) if found.opens_line and found.is_spaced else end


def _end_of_quoted(text: str, opening: re.Match[str]) -> tuple[int, str]:
    """Where a quoted value ends, and its closing quote. Within a quoted document the quotes are escaped: as many
    backslashes as before the opening one close it, fewer end the document. Half of an escaped quote closes nothing."""
    depth, quote, at = len(opening[2]), opening[3], opening.end()
    while match := _CLOSING[quote].search(text, at):
        at, slashes = match.end(), len(match[1])
        if slashes < depth:
            return match.start(), ""
        if depth:
            if slashes == depth:
                return at, match[0]
        elif slashes % 2 == 0:
            if text[at : at + 1] == quote:  # doubled: it stands for itself
                at += 1
            else:
                return _end_of_word(text, at) if _GOES_ON.match(text, at) else at, quote
    return len(text), ""


def _end_of_word(text: str, start: int) -> int:
    """The end of a value without quotes. A comma or the like ends it before a space or another pair, and brackets are
    passed with all that is in them. What closes something around it is not of it."""
    at = kept = start
    while match := _WORD_END.search(text, at):
        at = match.start()
        if match[0] in "{[(":
            at = kept = _end_of_brackets(text, at)
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
    """The end of the line, or the place before its next pair."""
    at = start
    while match := _IN_LINE_END.search(text, at):
        at = match.start()
        if match[0] not in ",;&|" or _NEXT_PAIR.match(text, at):
            return at
        at += 1
    return len(text)


def _end_of_line(text: str, start: int, around: str) -> int:
    """The end of the line, or the place before the quote that closes the whole pair."""
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


def _without_logins(text: str) -> Iterator[str]:
    at = 0
    for match in _LOGIN.finditer(text):
        start, end = match.span(2)
        login, mark, _ = match[2].rpartition("@")
        if not mark and (odd := _odd_login(text, match[2], end)):
            login = text[start:odd]
        if login and start >= at:
            user, colon, _ = login.partition(":")
            is_web = (match[1] or "").lower() in ("http", "https")  # where a token may stand for the user
            yield text[at:start]
            yield f"{user}:{HIDDEN}" if colon and not is_web else HIDDEN if is_web else login
            at = start + len(login)
    yield text[at:]


def _odd_login(text: str, authority: str, end: int) -> int | None:
    """The end of a login whose password has a character that should be escaped: what looks like a port is no number."""
    _, colon, port = authority.rpartition(":")
    if not colon or _PORT.fullmatch(port) or authority.endswith("]"):
        return None
    odd = _ODD_LOGIN.match(text, end)
    return odd.end() - 1 if odd else None
