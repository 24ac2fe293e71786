"""The file of the dashboard's users. `supervisor web-user` prints a line `name:role:hash` for it. A line `name:role` is
for a user who logs in at the proxy and has no password here. Empty lines and lines that begin with # are ignored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

# Hashes of passwords, made with scrypt. The form is `scrypt$N$R$P$SALT$KEY`; SALT and KEY are in base64.

N, R, P = 1 << 14, 8, 5  # parameters that OWASP recommends: they cost 16 MiB and about a quarter of a second
MOST_MEMORY = 64 << 20  # bytes of memory that the check of a hash in the file may need
SALT_BYTES = 16
KEY_BYTES = 32
SHORTEST = 8  # characters of a password
LONGEST = 1024


def make(password: str) -> str:
    """Hash a password with a new salt."""
    salt = secrets.token_bytes(SALT_BYTES)
    return _written(N, R, P, salt, _key(password, salt, N, R, P))


def unknown() -> str:
    """The hash of a random password. A login with an unknown name is checked against this hash, so that it takes as
    long as a login with a known name."""
    return _written(N, R, P, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(KEY_BYTES))


def matches(password: str, written: str) -> bool:
    """True if the password is right. The check takes equally long for a wrong and a right password. Raises ValueError
    if `written` is no hash."""
    n, r, p, salt, key = parse_hash(written)
    return hmac.compare_digest(_key(password, salt, n, r, p), key)


def parse_hash(written: str) -> tuple[int, int, int, bytes, bytes]:
    """Parse a hash; returns N, R, P, the salt and the key. Raises ValueError if the text is no hash, or if its check
    would need too much memory."""
    try:
        kind, *numbers, salt, key = written.split("$")
        n, r, p = map(int, numbers)
        parts = n, r, p, base64.b64decode(salt, validate=True), base64.b64decode(key, validate=True)
    except (ValueError, binascii.Error):
        raise ValueError("is no hash that `supervisor web-user` has made") from None
    is_known = kind == "scrypt" and min(r, p) >= 1 and p <= 20 and len(parts[4]) == KEY_BYTES
    if not is_known or n & (n - 1) or not 1 < n < 1 << min(16 * r, 64) or 128 * r * (n + p + 2) > MOST_MEMORY:
        raise ValueError("is no hash that `supervisor web-user` has made")
    return parts


def _key(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=r, p=p, maxmem=2 * MOST_MEMORY, dklen=KEY_BYTES
    )


def _written(n: int, r: int, p: int, salt: bytes, key: bytes) -> str:
    return "$".join(("scrypt", *map(str, (n, r, p)), *(base64.b64encode(part).decode() for part in (salt, key))))


LONGEST_NAME = 100
RESERVED = frozenset({"token", "viewer-token"})  # the names under which tokens log in


class Role(StrEnum):
    """The role of a user. A viewer can only read; an operator can also change things."""

    VIEWER = "viewer"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class User:
    """A user of the dashboard. `hash`: the hash of the password; empty for a user who logs in at the proxy."""

    name: str
    role: Role
    hash: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.name, self.role, self.hash)))


def read(path: Path) -> dict[str, User]:
    """Read the users in the file, by name. Raises ValueError with one line if the file is missing, wrong, or accessible
    to other users."""
    text = _text(path)
    users: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                user = parse(line.strip())
                if user.name in users:
                    raise ValueError(f"user {user.name} is in an earlier line, too")
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            users[user.name] = user
    return users


def _text(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
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
    """Parse a line of the file. Raises ValueError."""
    name, _, rest = line.partition(":")
    role, _, written = rest.partition(":")
    check_name(name)
    if role not in list(Role):
        raise ValueError(f"the role must be {' or '.join(Role)}, as in ada:viewer:scrypt$…")
    if written:
        try:
            parse_hash(written)
        except ValueError as error:
            raise ValueError(f"the hash of {name} {error}") from None
    return User(name, Role(role), written)


def check_name(name: str) -> None:
    """Check the name of a user. Raises ValueError if the name is not allowed."""
    if not name.strip() or name != name.strip() or ":" in name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} printable characters, and no colon")
    if name in RESERVED or name.startswith("#"):
        raise ValueError(f"the name {name} is taken: choose another")
