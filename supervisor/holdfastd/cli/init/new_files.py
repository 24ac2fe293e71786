"""Writes new files into a folder: all of them, whole, or none; never over something that is there."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})  # answers of a file system without hard links


def existing(folder: Path, names: Mapping[str, str]) -> list[str]:
    """The names that stand in this folder for anything, a broken link included."""
    return [name for name in names if os.path.lexists(folder / name)]


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write these files, by name. FileExistsError, and nothing was written, if one of them has come meanwhile.

    Each is written beside its place and then linked there, which does not replace anything: a file that can be seen
    is whole, at whatever moment this is interrupted.
    """
    placed: list[Path] = []
    with TemporaryDirectory(prefix=".supervisor-init-", dir=folder) as aside:
        for name, text in files.items():
            (Path(aside) / name).write_text(text, "utf-8")
        try:
            for name in files:
                _place(Path(aside) / name, folder / name)
                placed.append(folder / name)
        except BaseException:
            for path in placed:
                path.unlink()
            raise


def _place(source: Path, target: Path) -> None:
    """Give a file its name; FileExistsError if it is taken."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with target.open("x", encoding="utf-8") as file:
            file.write(source.read_text("utf-8"))
