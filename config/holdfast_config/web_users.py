"""The file of the dashboard's users. A line is `name:role:hash`, and `supervisor web-user` prints it. `name:role` is
for a user who logs in only at the proxy. Empty lines and lines that begin with # are ignored."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holdfast_config import password_hash

LONGEST_NAME = 100
RESERVED = frozenset({"token", "viewer-token"})  # the names under which tokens log in


class Role(StrEnum):
    """A viewer reads; an operator also changes."""

    VIEWER = "viewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class User:
    """`hash` is empty for a user without a password."""

    name: str
    role: Role
    hash: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.name, self.role, self.hash)))


def read(path: Path) -> dict[str, User]:
    """Users by name. Raises ValueError with one line for a file that is away, wrong, or open to others."""
    text = _text(path)
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


def _text(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe would wait for its writer
            raise ValueError(f"{path}: is no regular file")
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if mode & (stat.S_IRWXO | stat.S_IWGRP):
                raise ValueError(
                    f"{path}: others can read or change it (mode {stat.S_IMODE(mode):o}): chmod 600 {path}"
                )
            return opened.read().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8") from None


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
    """Raises ValueError if this cannot be the name of a user."""
    if not name.strip() or name != name.strip() or ":" in name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} printable characters, and no colon")
    if name in RESERVED or name.startswith("#"):
        raise ValueError(f"the name {name} is taken: choose another")
