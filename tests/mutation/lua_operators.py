"""The changes of Lua that mutants make, by the tokens of the source, and the places where statements begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.mutation.mutant import Change, Mutant, with_keys

OPERATORS = ("comparison", "bound", "boolean", "constant", "dropped statement", "swapped arguments", "early return",
             "default", "key")  # fmt: skip

_TOKEN = re.compile(
    rb"(?P<comment>--[^\n]*)|(?P<string>'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\")|(?P<number>\d+(?:\.\d+)?)"
    rb"|(?P<word>[A-Za-z_]\w*)|(?P<sign>\.\.\.|\.\.|==|~=|<=|>=|[^\w\s])"
)
_COMPARISONS = {b"<": (b">=", b"<="), b"<=": (b">", b"<"), b">": (b"<=", b">="), b">=": (b"<", b">"),
                b"==": (b"~=", b""), b"~=": (b"==", b"")}  # fmt: skip
_OTHER_WORDS = {b"and": b"or", b"or": b"and", b"true": b"false", b"false": b"true"}
_OPENING, _CLOSING = {b"(", b"{", b"["}, {b")", b"}", b"]"}
_NO_BEGINNING = {b"end", b"else", b"elseif", b"until", b"then", b"do", b"and", b"or", b"not", b"function"}
_GOES_ON = {b"and", b"or", b"not", b"return", b"in", b"=", b"..", b",", b"+", b"-", b"*", b"/", b"%", b"#", b"<", b">",
            b"<=", b">=", b"==", b"~=", b".", b":"}  # fmt: skip
_LEAVING = {b"return", b"break"}
_SMALL = 16
_WORDS_OF_FLOW = {b"if", b"for", b"while", b"repeat", b"local", b"function", b"return", b"break", *_NO_BEGINNING}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: bytes
    start: int
    end: int
    line: int
    depth: int = field(compare=False)  # of the brackets around it


def tokens(text: bytes) -> list[Token]:
    """Without comments."""
    found, depth = list[Token](), 0
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match[0]
        if kind == "comment":
            continue
        depth -= word in _CLOSING
        found.append(Token(kind, word, match.start(), match.end(), text.count(b"\n", 0, match.start()) + 1, depth))
        depth += word in _OPENING
    return found


def beginnings(file: str, text: bytes) -> dict[int, int]:
    """Where statements begin a line: the offset by line. Definitions at the top level of a shared part are left out, as
    they come with the part, whatever is called."""
    shared = "/shared/" in file
    found: dict[int, int] = {}
    before: Token | None = None
    for token in tokens(text):
        first = before is None or before.line != token.line
        goes_on = token.depth or token.text in _NO_BEGINNING or (before is not None and before.text in _GOES_ON)
        if first and token.kind == "word" and not goes_on and not (shared and _is_definition(text, token)):
            found[token.line] = token.start
        before = token
    return found


def _is_definition(text: bytes, token: Token) -> bool:
    return token.text == b"local" and (token.start == 0 or text[token.start - 1 : token.start] == b"\n")


def mutants(file: str, text: bytes) -> list[Mutant]:
    """All mutants of the script, in the order of their places."""
    found = tokens(text)
    starts = sorted(beginnings(file, text))
    names = _functions(text)
    changes = sorted(_changes(text, found), key=lambda change: (change[1].start, change[1].end))
    return with_keys(text, (_mutant(file, text, change, operator, starts, names) for operator, change in changes))


def _mutant(
    file: str, text: bytes, change: Change, operator: str, starts: Sequence[int], names: dict[int, str]
) -> Mutant:
    line = text.count(b"\n", 0, change.start) + 1
    where = names.get(max((each for each in names if each <= line), default=0), "(script)")
    statement = max((each for each in starts if each <= line), default=0)
    definition = re.search(rb"^local (?:function )?(\w+)", text.splitlines()[line - 1])
    if definition and line not in starts:  # no statement of its own: it runs where the name is used
        return Mutant(file, line, where, operator, change, (definition[1].decode(),))
    return Mutant(file, statement or line, where, operator, change)


def _functions(text: bytes) -> dict[int, str]:
    """The name of each function of the top level, and of what stands after it, by line."""
    found: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if definition := re.match(rb"local function (\w+)", line):
            found[number] = definition[1].decode()
        elif re.match(rb"end\b", line):
            found[number + 1] = "(script)"
    return found


def _changes(text: bytes, found: Sequence[Token]) -> Iterator[tuple[str, Change]]:
    for place, token in enumerate(found):
        before, after = found[place - 1] if place else None, found[place + 1] if place + 1 < len(found) else None
        yield from _of_token(token, before, after)
        if token.text == b"(" and before is not None and (before.kind == "word" and before.text not in _WORDS_OF_FLOW):
            yield from _swapped(text, found, place)
        if token.text in _LEAVING and before is not None and before.text == b"then":
            yield from _leaving(found, place)
    yield from _dropped(text, found)


def _of_token(token: Token, before: Token | None, after: Token | None) -> Iterator[tuple[str, Change]]:
    def changed(new: bytes) -> Change:
        return Change(token.start, token.end, new)

    if token.kind == "sign" and token.text in _COMPARISONS:
        opposite, bound = _COMPARISONS[token.text]
        yield "comparison", changed(opposite)
        if bound:
            yield "bound", changed(bound)
    elif (
        token.kind == "sign" and token.text in {b"+", b"-"} and before is not None and before.kind in {"word", "number"}
    ):
        yield "constant", changed(b"-" if token.text == b"+" else b"+")
    elif token.kind == "word" and token.text in _OTHER_WORDS:
        yield "constant" if token.text in {b"true", b"false"} else "boolean", changed(_OTHER_WORDS[token.text])
    elif token.kind == "word" and token.text == b"not":
        yield "boolean", changed(b"")
    elif token.kind == "number":
        default = before is not None and before.text == b"or"
        yield "default" if default else "constant", changed(_other(token.text))
    elif token.kind == "string" and before is not None and before.text in {b",", b"["} and len(token.text) > 2:
        yield "key", changed(token.text[:-1] + b"_" + token.text[-1:])
    elif token.kind == "string" and before is not None and before.text == b"or":
        yield "default", changed(token.text[:-1] + b"_" + token.text[-1:])
    elif token.kind == "word" and token.depth and after is not None and after.text == b"=":
        yield "key", changed(token.text + b"_")  # of a table


def _other(number: bytes) -> bytes:
    value = float(number)
    return str(int(value + 1 if value <= _SMALL else value * 2)).encode()


def _swapped(text: bytes, found: Sequence[Token], place: int) -> Iterator[tuple[str, Change]]:
    """Neighbours among the arguments of the call whose bracket opens at `place`."""
    arguments, depth, start = list[tuple[int, int]](), found[place].depth, found[place].end
    for token in found[place + 1 :]:
        if (token.depth, token.text) in {(depth + 1, b","), (depth, b")")}:
            arguments.append((start + (text[start : start + 1] == b" "), token.start))
            start = token.end
            if token.text == b")":
                break
    for (first, first_end), (second, second_end) in pairwise(arguments):
        one, other = text[first:first_end], text[second:second_end]
        if one != other and b"..." not in other and b"unpack" not in other and b"\n" not in text[first:second_end]:
            yield "swapped arguments", Change(first, second_end, other + b", " + one)


def _leaving(found: Sequence[Token], place: int) -> Iterator[tuple[str, Change]]:
    """`then return … end` becomes `then end`, where no block stands in the value."""
    for token in found[place + 1 :]:
        if token.text == b"end":
            yield "early return", Change(found[place].start, token.start, b"")
            return
        if token.text in {b"function", b"if", b"for", b"while", b"else", b"elseif"}:
            return


def _dropped(text: bytes, found: Sequence[Token]) -> Iterator[tuple[str, Change]]:
    """Calls and assignments that are a statement of one line, counters among them."""
    for before, token in pairwise(found):
        if token.line == before.line or token.depth or token.kind != "word" or token.text in _WORDS_OF_FLOW:
            continue
        end = text.find(b"\n", token.start)
        code = text[token.start : end].split(b"--")[0].rstrip()
        is_statement = re.fullmatch(rb"[\w.:]+\(.*\)|[\w.\[\]]+(?:, [\w.\[\]]+)* = [^{]+", code)
        if is_statement and before.text not in _GOES_ON and code.count(b"(") == code.count(b")"):
            yield "dropped statement", Change(token.start, token.start + len(code), b"")


def build_all(name: str) -> None:
    """Build and compile each operation that has the script as a part; raises where one is no Lua."""
    import lupa.lua51

    from holdfast.store.redis.scripts import build, operations

    lua = lupa.lua51.LuaRuntime()
    for operation in operations():
        source = build(operation).source.decode()
        lua.execute(f"return function(...)\n{source.partition(chr(10))[2]}\nend")
