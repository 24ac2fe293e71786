"""Writes the files of a service; existing files are compared first, and files that somebody has changed are kept."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfastd.unit.access import USER, Site
from holdfastd.unit.unit_files import File, is_intact


class Action(StrEnum):
    """The action taken for a file."""

    WRITTEN = "written"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    KEPT = "kept"  # another program wrote it, or somebody changed it


@dataclass(frozen=True, slots=True)
class InstallStep:
    """`path`: the place of the file below the given root."""

    action: Action
    path: Path
    file: File

    @property
    def writes(self) -> bool:
        return self.action in {Action.WRITTEN, Action.REPLACED}


def steps(files: Iterable[File], root: Path, *, force: bool) -> Iterator[InstallStep]:
    """The steps of an installation. Raises OSError, UnicodeDecodeError where an existing file cannot be read."""
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
    """Create the folder so that everybody may enter it, whatever the umask is: the service's user reads its settings
    there."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)


def write(step: InstallStep) -> None:
    """Write the file atomically. Raises OSError."""
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


# The commands that make systemd use new files, to be typed or run.

Command = tuple[str, ...]


class SystemdError(HoldfastError):
    """A systemd command has failed."""


def systemctl_commands(site: Site) -> list[Command]:
    """The commands that start the service now and after each boot."""
    users: list[Command] = [("systemd-sysusers", "holdfast.conf")] if site.user == USER else []
    return [
        *users,
        ("systemd-tmpfiles", "--create", "holdfast.conf"),
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", "--now", site.unit),
    ]


def start_service(site: Site) -> None:
    """Run all commands. Raises SystemdError with the output of the first one that fails."""
    for command in systemctl_commands(site):
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        except FileNotFoundError as error:
            raise SystemdError(f"{command[0]}: not found: is this machine run by systemd?") from error
        if done.returncode != 0:
            raise SystemdError(f"{' '.join(command)}: {done.stderr.strip() or f'exit status {done.returncode}'}")
