"""The reading of a text: its plain characters, as a person sees them, with escapes decoded and nothing invisible.

A producer can spell a name in many ways: `pass\\u0077ord`, full-width letters, `&#112;assword`, a zero-width space
in the middle. All of them read as `password`. So secrets are searched in the reading, and a position in the reading
is turned back into a position in the spelled text.

An escaped quote of any kind reads as a quote after backslashes, so it does not end a value that a plain quote has
begun. The pattern tries no character twice at one place, so the time is linear.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MOST = 4  # a character may read as at most this many; a few characters stand for whole phrases

# Characters that read as ASCII or as nothing: letters with marks, marks, invisible characters, spaces, letters in a
# frame or a circle, mathematical and full-width letters. All other characters stay as they are.
_LOOKALIKES = (
    "\xa0\xad\xc0-\u02ff\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u1ab0-\u1aff\u1d2c-\u1dff"
    "\u1e00-\u1eff\u2000-\u2027\u202a-\u20ff\u2100-\u21ff\u2460-\u24ff\u2794-\u27ff\u2800\u2c60-\u2c7f\u3000\u3164"
    "\ufe00-\ufe2f\ufe50-\ufe6f\ufeff\uff00-\uff65\uffa0\ufff0-\ufffb\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
    "\U000e0000-\U000e0fff"
)
_ODD = re.compile(
    r"(?<!\\)(?P<slashes>\\++)(?:u(?P<pair>[dD][89abAB][0-9a-fA-F]{2}\\++u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<four>[0-9a-fA-F]{4})|u\{(?P<braced>[0-9a-fA-F]{1,6})\}|U000(?P<wide>[0-9a-fA-F]{5})|x(?P<two>[0-9a-fA-F]{2}))"
    r"|&(?P<amp>(?:amp;)*+)(?P<entity>#[xX]?+[0-9a-fA-F]{1,8}+;|[a-zA-Z]{2,8}+;)?+"
    r"|\x1b\[[0-9;]{0,16}+[A-Za-z]"
    rf"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f{_LOOKALIKES}]"
)
_SIGNS = {
    **dict.fromkeys("→⇒⟶⟹➔➜➝➞➡", "="),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '\\"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "\\'"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a text. A run is a stretch of characters that are spelled as they read. `text`: the reading.
    `read`: the position of each run in the reading. `spelled`, `ends`: where each run begins and ends in the spelled
    text."""

    text: str
    read: list[int]
    spelled: list[int]
    ends: list[int]

    def place(self, at: int) -> int:
        """The position in the spelled text of the character at position `at` of the reading."""
        number = bisect_right(self.read, at) - 1
        return min(self.spelled[number] + at - self.read[number], self.ends[number])


def is_odd(text: str) -> bool:
    """True if the reading may differ from the spelled text."""
    return _ODD.search(text) is not None


def as_read(text: str) -> str:
    return _ODD.sub(_plain, text)


def reading(text: str) -> Reading:
    found = Reading("", [], [], [])
    pieces, length = list[str](), 0
    for start, end, plain in _runs(text):
        found.read.append(length)
        found.spelled.append(start)
        found.ends.append(end)
        pieces += (text[start:end], plain)
        length += end - start + len(plain)
    return Reading("".join(pieces), found.read, found.spelled, found.ends)


def _runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Each run: where it begins and ends in the text, and the reading of the odd characters behind it."""
    at = 0
    for match in _ODD.finditer(text):
        if (plain := _plain(match)) != match[0]:
            yield at, match.start(), plain
            at = match.end()
    yield at, len(text), ""


def _plain(match: re.Match[str]) -> str:
    if slashes := match["slashes"]:
        return _of_escape(match, len(slashes))
    if match["amp"] is not None:
        return _of_entity(match[0], match["entity"])
    return "" if len(match[0]) > 1 else _of_letter(match[0])


def _of_entity(spelled: str, entity: str | None) -> str:
    """The reading of an HTML entity, also if its `&` is spelled as `&amp;`."""
    if entity is None:
        return "&"
    character = html.unescape(f"&{entity}")
    return _of_character(character, spelled, 1) if len(character) == 1 else spelled


def _of_escape(match: re.Match[str], slashes: int) -> str:
    if pair := match["pair"]:
        code = 0x10000 + ((int(pair[:4], 16) & 0x3FF) << 10) + (int(pair[-4:], 16) & 0x3FF)
    else:
        code = int(match["wide"] or match["braced"] or match["four"] or match["two"], 16)
    return _of_character(chr(code), match[0], slashes) if code < 0x110000 else match[0]


def _of_character(character: str, spelled: str, slashes: int) -> str:
    """The reading of an escaped character. `spelled`: the escape; line ends and backslashes keep it. `slashes`: the
    number of its backslashes."""
    if character in "\"'`":
        return "\\" * (2 * slashes - 1) + character
    return spelled if character in "\\\r\n\t" else _of_letter(character)


@lru_cache(4096)
def _of_letter(letter: str) -> str:
    if letter in _SIGNS:
        return _SIGNS[letter]
    if letter.isspace():
        return letter if letter in " \t\r\n\x85\u2028\u2029" else " "
    plain = "".join(each for each in unicodedata.normalize("NFKD", letter) if not _is_unseen(each))
    return plain if len(plain) <= MOST else letter


def _is_unseen(character: str) -> bool:
    """True for marks on letters and for invisible characters: joiners, text directions, fillers, control characters."""
    return unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc", "Cs") or character in "\u115f\u1160\u2800"
