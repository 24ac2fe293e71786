"""Opens files of all kinds, writes to them, and closes none. As a program it does so once, and ends as Python ends."""

# ruff: noqa: SIM115 - no file here is closed

from __future__ import annotations

import bz2
import dbm.dumb
import gzip
import io
import lzma
import os
import shelve
import sys
import tarfile
import tempfile
import wave
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("NOTES_FOLDER", "."))
_opened: dict[str, Any] = {}


class Upload(io.RawIOBase):
    """Stores what it was given when it is closed, and not before."""

    def __init__(self, path: Path) -> None:
        self._path, self._kept = path, [b""]

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._kept.append(bytes(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._path.write_bytes(b"".join(self._kept))
        super().close()


class Holder:
    """Holds a file two steps away."""

    def __init__(self, file: Any) -> None:
        self.held = [file]


class Through(io.RawIOBase):
    """Writes its last words when it is closed, into a file that stands elsewhere."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        written: int = self._holder.held[0].write(data)
        return written

    def close(self) -> None:
        if not self.closed:
            self._holder.held[0].write(b"the end\n")
        super().close()


def _wave() -> Any:
    file = wave.open(str(FOLDER / "o.wav"), "wb")
    file.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
    return file


def _open() -> None:
    inside = tarfile.open(FOLDER / "o.tar.gz", "w:gz")
    _opened.update(
        gz=gzip.open(FOLDER / "o.gz", "wt", encoding="utf-8"),
        bz2=bz2.open(FOLDER / "o.bz2", "wt", encoding="utf-8"),
        xz=lzma.open(FOLDER / "o.xz", "wt", encoding="utf-8"),
        text=(FOLDER / "o.text").open("w", encoding="utf-8"),
        upload=io.BufferedWriter(Upload(FOLDER / "o.upload")),
        through=io.BufferedWriter(Through(Holder((FOLDER / "o.through").open("wb")))),
        packed=io.TextIOWrapper(gzip.GzipFile(fileobj=bz2.open(FOLDER / "o.gz.bz2", "wb"), mode="wb")),
        tar=inside,
        zip=zipfile.ZipFile(FOLDER / "o.zip", "w"),
        dumb=dbm.dumb.open(str(FOLDER / "o.dumb"), "n"),
        shelf=shelve.Shelf(dbm.dumb.open(str(FOLDER / "o.shelf"), "n"), writeback=True),
        wave=_wave(),
        kept=tempfile.NamedTemporaryFile(dir=FOLDER, prefix="temporary-"),
    )
    _opened["shelf"]["rows"] = []


def note(word: str) -> None:
    """Write this word to each."""
    if not _opened:
        _open()
    for name in ("gz", "bz2", "xz", "text", "packed"):
        _opened[name].write(f"{word}\n")
    for name in ("upload", "through"):
        _opened[name].write(f"{word}\n".encode())
    _opened["zip"].writestr(word, word)
    _opened["dumb"][word] = b"1"
    _opened["shelf"]["rows"].append(word)
    _opened["wave"].writeframes(bytes(4))
    member = tarfile.TarInfo(word)
    _opened["tar"].addfile(member)


def _lines(name: str, opened: Callable[..., Any] = open) -> int:
    with opened(FOLDER / name, "rt", encoding="utf-8") as file:
        return len(file.read().splitlines())


def _packed() -> int:
    with bz2.open(FOLDER / "o.gz.bz2") as outer, gzip.open(outer) as inner:
        return len(inner.read().splitlines())


def _wave_frames() -> int:
    with wave.open(str(FOLDER / "o.wav")) as file:
        return file.getnframes()


def _shelved() -> int:
    with shelve.Shelf(dbm.dumb.open(str(FOLDER / "o.shelf"), "r")) as shelf:
        return len(shelf["rows"])


READERS: dict[str, Callable[[], int]] = {
    "gz": lambda: _lines("o.gz", gzip.open),
    "bz2": lambda: _lines("o.bz2", bz2.open),
    "xz": lambda: _lines("o.xz", lzma.open),
    "text": lambda: _lines("o.text"),
    "upload": lambda: _lines("o.upload"),
    "through": lambda: _lines("o.through"),
    "packed": _packed,
    "tar": lambda: len(tarfile.open(FOLDER / "o.tar.gz").getnames()),
    "zip": lambda: len(zipfile.ZipFile(FOLDER / "o.zip").namelist()),
    "dumb": lambda: len(dbm.dumb.open(str(FOLDER / "o.dumb"), "r").keys()),
    "shelf": _shelved,
    "wave": _wave_frames,
    "temporary": lambda: len(list(FOLDER.glob("temporary-*"))),
}


def found() -> dict[str, int | str]:
    """The number of records that can be read of each file, or the error."""
    read: dict[str, int | str] = {}
    for name, reader in READERS.items():
        try:
            read[name] = reader()
        except Exception as error:
            read[name] = type(error).__name__
    return read


async def write(messages: list[dict[str, Any]]) -> None:
    note(messages[-1]["content"])


if __name__ == "__main__":
    for each in sys.argv[1:]:
        note(each)
