"""The accounts that may log in: tokens, users of a file, and users whom a proxy names."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import structlog

from holdfast_config import Settings, web_users
from holdfast_config.web_users import RESERVED, Role, User, read
from holdfastd.operations.act import CHANGING

# The users in the users file of the dashboard, as the file is now.

_log = structlog.get_logger("holdfast.web")


@dataclass(slots=True)
class UsersFile:
    """The users file, which is read again after a change. While the file is missing or wrong, there are no users, and
    the log says why."""

    path: Path
    _users: dict[str, User] = field(default_factory=dict[str, User])
    _state: object = None

    def user(self, name: str) -> User | None:
        """The user with this name in the present file; None if there is none."""
        if (state := _state_of(self.path)) != self._state:
            self._state, self._users = state, self._read()
        return self._users.get(name)

    def _read(self) -> dict[str, User]:
        try:
            return read(self.path)
        except ValueError as error:
            _log.error("the users file cannot be read: no user can log in", error=str(error))
            return {}


def _state_of(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


MOST_AT_ONCE = 32  # logins whose passwords wait for their check; the checks run one after the other
TOKEN, VIEWER_TOKEN = "token", "viewer-token"
_NOBODY = web_users.unknown()


class TooManyLoginsError(Exception):
    """Too many logins wait for their passwords to be checked: try again later."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account that may log in. `credential`: the token or the hash of the password. A session ends when the
    credential changes."""

    name: str
    role: Role
    credential: str = ""


@dataclass(slots=True)
class Accounts:
    """The accounts of the dashboard. A login with `token` has the role `of_token`; a login with `viewer_token` has the
    role viewer. `of_stranger`: the role of a user whom the proxy names and who is not in the users file; None: no
    login. `read_only`: every user is a viewer."""

    token: str
    of_token: Role = Role.OPERATOR
    viewer_token: str = ""
    users: UsersFile | None = None
    of_stranger: Role | None = None
    read_only: bool = False
    _checking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _waiting: int = 0
    _verified: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _salt: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @classmethod
    def of(cls, settings: Settings) -> Accounts:
        """The accounts that these settings define. The settings must have a token."""
        assert settings.web_token is not None
        return cls(
            settings.web_token.get_secret_value(),
            viewer_token=settings.web_viewer_token.get_secret_value() if settings.web_viewer_token else "",
            users=UsersFile(settings.web_users_file) if settings.web_users_file else None,
            of_stranger=None if settings.web_proxy_role == "none" else Role(settings.web_proxy_role),
            read_only=settings.web_read_only,
        )

    def named(self, name: str) -> Account | None:
        """The present account with this name; None if there is none."""
        if name == TOKEN:
            return self._account(TOKEN, self.of_token, self.token)
        if name == VIEWER_TOKEN and self.viewer_token:
            return self._account(VIEWER_TOKEN, Role.VIEWER, self.viewer_token)
        user = self.users.user(name) if self.users else None
        return self._account(user.name, user.role, user.hash) if user else None

    def with_token(self, token: str) -> Account | None:
        """The account of a token; None for an unknown token. Takes equally long for all tokens of the same length."""
        given = token.encode("utf-8", "surrogatepass")
        fits = [
            account
            for account in (self.named(TOKEN), self.named(VIEWER_TOKEN))
            if account and hmac.compare_digest(given, account.credential.encode())
        ]
        return fits[0] if fits else None

    async def with_password(self, name: str, password: str) -> Account | None:
        """The account, if the password is right; None for a wrong password. An unknown user, or one without a password,
        gets None after the same time. Raises TooManyLoginsError."""
        user = self.users.user(name) if self.users else None
        written = user.hash if user and user.hash else _NOBODY
        mark = hmac.digest(self._salt, f"{written}\0{password}".encode("utf-8", "surrogatepass"), hashlib.sha256)
        if not hmac.compare_digest(self._verified.get(name, b""), mark):
            if not await self._matches(password[: web_users.LONGEST + 1], written) or written is _NOBODY:
                return None
            self._verified[name] = mark
        return self.named(name)

    def of_proxy(self, name: str) -> Account | None:
        """The account of a user whom the proxy names; None if the user has no role, or the name is reserved for a
        token."""
        if name in RESERVED:
            return None
        if known := (self.users.user(name) if self.users else None):
            return self._account(known.name, known.role, known.hash)
        return self._account(name, self.of_stranger, "") if self.of_stranger else None

    def _account(self, name: str, role: Role, credential: str) -> Account:
        return Account(name, Role.VIEWER if self.read_only else role, credential)

    async def _matches(self, password: str, written: str) -> bool:
        if self._waiting >= MOST_AT_ONCE:
            raise TooManyLoginsError
        self._waiting += 1
        try:
            async with self._checking:
                return await asyncio.to_thread(web_users.matches, password, written)
        finally:
            self._waiting -= 1


# A person or program that has logged in, with its role.


class Login(StrEnum):
    """The way in which a request proves who sends it."""

    COOKIE = "cookie"  # a browser also sends it for a form of another site, so a change needs the form's secret, too
    PROXY = "proxy"  # the proxy names the user for every request of a browser, so a change needs the secret, too
    HEADER = "header"  # the header Authorization: another site cannot make a browser send it


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person or program that has logged in. `name`: as Activity shows it. `csrf`: the secret in all forms of this
    session; empty for a login in a header. `credential_mark`: only for a login in a header; another credential gives
    another mark."""

    name: str
    role: Role
    login: Login
    csrf: str = ""
    credential_mark: str = ""

    @property
    def needs_secret(self) -> bool:
        """True if another site could make a browser send this login. A change then also needs its form's secret."""
        return self.login is not Login.HEADER

    @property
    def may_change(self) -> bool:
        return self.role in CHANGING
