"""The file of users: a line `name:role:hash` each, as `supervisor web-user` prints it; `name:role` for a user who logs
in at the proxy alone. Empty lines and those that begin with # say nothing."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from holdfastd.web.access import password_hash
from holdfastd.web.access.visitor import Role

LONGEST_NAME = 100
RESERVED = frozenset({"token", "viewer-token"})  # the names under which tokens log in

_log = structlog.get_logger("holdfast.web")


@dataclass(frozen=True, slots=True)
class User:
    """`hash`: empty for one who has no password."""

    name: str
    role: Role
    hash: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.name, self.role, self.hash)))


@dataclass(slots=True)
class UsersFile:
    """Read again when it has changed. While it is away or wrong it has no users, and the log says why."""

    path: Path
    _users: dict[str, User] = field(default_factory=dict[str, User])
    _state: object = None

    def user(self, name: str) -> User | None:
        """The user of this name as the file is now."""
        if (state := _state_of(self.path)) != self._state:
            self._state, self._users = state, self._read()
        return self._users.get(name)

    def _read(self) -> dict[str, User]:
        try:
            return read(self.path)
        except ValueError as error:
            _log.error("the users file is not in use", error=str(error))
            return {}


def read(path: Path) -> dict[str, User]:
    """Users by name. Raises ValueError with one line for a file that is away, wrong, or open to others."""
    try:
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_IRWXO | stat.S_IWGRP):
                raise ValueError(
                    f"{path}: others can read or change it (mode {stat.S_IMODE(mode):o}): chmod 600 {path}"
                )
            text = opened.read().decode()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8") from None
    users: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                user = parse(line.strip())
                if user.name in users:
                    raise ValueError(f"user {user.name} stands in an earlier line, too")
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            users[user.name] = user
    return users


def parse(line: str) -> User:
    """Raises ValueError."""
    name, _, rest = line.partition(":")
    role, _, written = rest.partition(":")
    check_name(name)
    if role not in list(Role):
        raise ValueError(f"the role must be {' or '.join(Role)}, as in ada:viewer:scrypt$…")
    if written:
        try:
            password_hash.parse(written)
        except ValueError as error:
            raise ValueError(f"the hash of {name} {error}") from None
    return User(name, Role(role), written)


def check_name(name: str) -> None:
    """Raises ValueError for what cannot be the name of a user."""
    if not name.strip() or name != name.strip() or ":" in name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} printable characters, and no colon")
    if name in RESERVED or name.startswith("#"):
        raise ValueError(f"the name {name} is taken: choose another")


def _state_of(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode
