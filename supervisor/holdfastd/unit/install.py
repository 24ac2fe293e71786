"""Writing the files of a service: what is there already is compared first, and a change of somebody's is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holdfastd.unit.checksum import is_intact
from holdfastd.unit.unit_files import File


class Action(StrEnum):
    """What becomes of a file."""

    WRITTEN = "written"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    KEPT = "kept"  # it is not, or no longer, as we wrote it


@dataclass(frozen=True, slots=True)
class InstallStep:
    """`path`: where the file goes, below the root that was asked for."""

    action: Action
    path: Path
    file: File

    @property
    def writes(self) -> bool:
        return self.action in {Action.WRITTEN, Action.REPLACED}


def steps(files: Iterable[File], root: Path, *, force: bool) -> Iterator[InstallStep]:
    """What there is to do. Raises OSError, UnicodeDecodeError where a file that is there cannot be read."""
    for file in files:
        path = root / file.path.relative_to("/")
        yield InstallStep(_action(file, path, force=force), path, file)


def _action(file: File, path: Path, *, force: bool) -> Action:
    try:
        there = path.read_text("utf-8")
    except FileNotFoundError:
        return Action.WRITTEN
    if there == file.text:
        return Action.UNCHANGED
    return Action.REPLACED if force or is_intact(there) else Action.KEPT


def _make(folder: Path) -> None:
    """For everybody to enter, whatever the umask is: the service's user reads its settings there."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)


def write(step: InstallStep) -> None:
    """All or nothing. Raises OSError."""
    _make(step.path.parent)
    fresh = step.path.with_name(f".{step.path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, step.file.mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        os.fchmod(descriptor, step.file.mode)  # whatever the umask is
        stream.write(step.file.text)
        stream.flush()
        os.fsync(descriptor)
    fresh.replace(step.path)
