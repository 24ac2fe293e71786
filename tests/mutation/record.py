"""The record of which tests run which lines, in `.cache/mutation/record.sqlite`.

A test file is recorded once, and again when its text has changed. When a file of the product has changed since, its
lines are carried over: an unchanged line keeps its tests, and a changed one has those of the lines that it replaces.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby
from pathlib import Path

from tests.mutation.areas import ROOT

KEPT = ROOT / ".cache/mutation"
RECORD = KEPT / "record.sqlite"
PASSED = "passed"
_TABLES = """
CREATE TABLE IF NOT EXISTS sources (hash TEXT PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS layouts (id TEXT PRIMARY KEY, files TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (file TEXT PRIMARY KEY, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tests (
    id TEXT PRIMARY KEY, file TEXT NOT NULL, outcome TEXT NOT NULL, seconds REAL NOT NULL,
    layout TEXT NOT NULL, ran BLOB NOT NULL
);
"""

Line = tuple[str, int]  # a file and the number of a line in it


@dataclass(frozen=True, slots=True)
class Test:
    """`seconds`: that it took while it was recorded, with its fixtures."""

    __test__ = False  # not one for pytest

    id: str
    file: str
    seconds: float


class Record:
    def __init__(self, path: Path = RECORD) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self._database.executescript(_TABLES)
        self._carried: dict[tuple[str, str], Mapping[int, Collection[int]]] = {}

    def close(self) -> None:
        self._database.close()

    def keep_layout(self, sources: Mapping[str, str]) -> str:
        """The texts of the product's files, and how their lines are counted through; the layout's id."""
        files = {file: (text_hash(text), text.count("\n") + 1) for file, text in sources.items()}
        described = json.dumps(files)
        layout = text_hash(described)
        packed = [(files[file][0], zlib.compress(text.encode())) for file, text in sources.items()]
        with self._database as database:
            database.executemany("INSERT OR IGNORE INTO sources VALUES (?, ?)", packed)
            database.execute("INSERT OR IGNORE INTO layouts VALUES (?, ?)", (layout, described))
        return layout

    def keep(self, file: str, hash_: str, layout: str, ran: Mapping[Test, tuple[str, Collection[int]]]) -> None:
        """All tests of a file: the outcome of each, and the places that it ran."""
        rows = [
            (test.id, test.file, outcome, test.seconds, layout, packed(places))
            for test, (outcome, places) in ran.items()
        ]
        with self._database as database:
            database.execute("DELETE FROM tests WHERE file = ?", (file,))
            database.executemany("INSERT OR REPLACE INTO tests VALUES (?, ?, ?, ?, ?, ?)", rows)
            database.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (file, hash_))

    def missing(self, files: Collection[str]) -> list[str]:
        """Those test files that are not recorded as they are now."""
        kept = dict(self._database.execute("SELECT file, hash FROM files").fetchall())
        return [file for file in files if kept.get(file) != file_hash(file)]

    def recorded(self) -> list[str]:
        return [file for (file,) in self._database.execute("SELECT file FROM files ORDER BY file")]

    def outcomes(self) -> dict[str, int]:
        return dict(self._database.execute("SELECT outcome, count(*) FROM tests GROUP BY outcome").fetchall())

    def tests_of(self, lines: Collection[Line]) -> list[Test]:
        """The tests that passed and ran one of the lines of the tree as it is now."""
        places = {layout: self._places(layout, lines) for (layout,) in self._database.execute("SELECT id FROM layouts")}
        query = "SELECT id, file, seconds, layout, ran FROM tests WHERE outcome = ?"
        with closing(self._database.execute(query, (PASSED,))) as rows:
            return [
                Test(id_, file, seconds)
                for id_, file, seconds, layout, ran in rows
                if places[layout] and _any(ran, places[layout]) and (ROOT / file).exists()
            ]

    def _places(self, layout: str, lines: Collection[Line]) -> list[int]:
        """The lines as the layout counts them."""
        files = self._layouts[layout]
        first, places = 0, list[int]()
        wanted = {file: {line for _, line in group} for file, group in groupby(sorted(lines), key=lambda line: line[0])}
        for file, (hash_, length) in files.items():
            if file in wanted:
                former = self._former(file, hash_)
                places += (first + line for new in wanted[file] for line in former.get(new, ()))
            first += length + 1
        return places

    @cached_property
    def _layouts(self) -> Mapping[str, Mapping[str, tuple[str, int]]]:
        rows = self._database.execute("SELECT id, files FROM layouts").fetchall()
        return {layout: json.loads(files) for layout, files in rows}

    def _former(self, file: str, hash_: str) -> Mapping[int, Collection[int]]:
        """The numbers that each line of the file had in the text of that hash."""
        if (file, hash_) not in self._carried:
            (packed_text,) = self._database.execute("SELECT text FROM sources WHERE hash = ?", (hash_,)).fetchone()
            former = zlib.decompress(packed_text).decode()
            self._carried[file, hash_] = carried_over(former, (ROOT / file).read_text())
        return self._carried[file, hash_]


def carried_over(former: str, now: str) -> Mapping[int, Collection[int]]:
    """For each line now, by number from 1, the numbers of the lines that stood there."""
    before, after = former.splitlines(), now.splitlines()
    found: dict[int, list[int]] = defaultdict(list)
    for tag, low, high, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for line in range(first, last):
            found[line + 1] += [low + 1 + line - first] if tag == "equal" else [old + 1 for old in range(low, high)]
    return found


def packed(places: Collection[int]) -> bytes:
    bits = bytearray(max(places, default=0) // 8 + 1)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return zlib.compress(bits, 1)


def unpacked(ran: bytes) -> Iterator[int]:
    for number, byte in enumerate(zlib.decompress(ran)):
        yield from (number * 8 + bit for bit in range(8) if byte >> bit & 1)


def _any(ran: bytes, places: Collection[int]) -> bool:
    bits = zlib.decompress(ran)
    return any(place >> 3 < len(bits) and bits[place >> 3] >> (place & 7) & 1 for place in places)


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def file_hash(file: str) -> str:
    """Of a file of the tree, by its path from the root."""
    return text_hash((ROOT / file).read_text())
