"""A text as its reader understands it: without what cannot be seen, escapes decoded, letters in their plain form.

A producer can spell a name in many ways: `pass\\u0077ord`, full-width letters, `&#112;assword`, a zero-width space
in the middle. All of them read as `password`. So a name is looked up as it reads, and places in the reading are
turned back into places of the text as it is spelled.

An escaped quote of any kind reads as a quote behind backslashes: it ends no value that a plain quote has begun.
The pattern tries no character twice at one place, so the time is linear.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MOST = 4  # characters that one may read as: a few stand for whole phrases

# Letters with marks, marks, what cannot be seen, spaces, letters in a frame, a circle, mathematics or full width. They
# are the ones that read as ASCII or as nothing; of all others a text stays as it is.
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
    """`text`: as it reads. `read`, `spelled`: where each run of characters begins that are spelled as they read, in the
    one and in the other. `ends`: where each run ends, as spelled."""

    text: str
    read: list[int]
    spelled: list[int]
    ends: list[int]

    def place(self, at: int) -> int:
        """Where the text as it is spelled has what the reading has `at`."""
        number = bisect_right(self.read, at) - 1
        return min(self.spelled[number] + at - self.read[number], self.ends[number])


def is_odd(text: str) -> bool:
    """True if the text may read in another way than it is spelled."""
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
    """Each run of characters that are spelled as they read, and how what follows it reads."""
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
    """How a character of HTML reads, also one whose `&` is spelled as `&amp;`."""
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
    """How a character reads that is `spelled` with an escape. Line ends and backslashes stay as they are spelled."""
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
    """True for marks on a letter, and for what takes no place: joiners, directions, fillers, control characters."""
    return unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc", "Cs") or character in "\u115f\u1160\u2800"
