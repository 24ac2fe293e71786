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

# The users of the dashboard's file, as it is now.

_log = structlog.get_logger("holdfast.web")


@dataclass(slots=True)
class UsersFile:
    """The file of users; it is read again after a change. While it is missing or wrong, there are no users, and the log
    says why."""

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
            _log.error("the users file cannot be read: no user can log in", error=str(error))
            return {}


def _state_of(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


MOST_AT_ONCE = 32  # logins that wait for their passwords to be checked, one after the other
TOKEN, VIEWER_TOKEN = "token", "viewer-token"
_NOBODY = web_users.unknown()


class TooManyLoginsError(Exception):
    """Too many logins wait for their passwords to be checked: try again later."""


@dataclass(frozen=True, slots=True)
class Account:
    """`credential`: the token or the hash of the password; a session ends when it changes."""

    name: str
    role: Role
    credential: str = ""


@dataclass(slots=True)
class Accounts:
    """`token` gives the role `of_token`, `viewer_token` that of a viewer. `of_stranger`: the role of a user whom the
    proxy names and the file does not; None: no login. `read_only`: everybody is a viewer."""

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
        """The accounts of the settings, which must have a token."""
        assert settings.web_token is not None
        return cls(
            settings.web_token.get_secret_value(),
            viewer_token=settings.web_viewer_token.get_secret_value() if settings.web_viewer_token else "",
            users=UsersFile(settings.web_users_file) if settings.web_users_file else None,
            of_stranger=None if settings.web_proxy_role == "none" else Role(settings.web_proxy_role),
            read_only=settings.web_read_only,
        )

    def named(self, name: str) -> Account | None:
        """The account of this name as it is now."""
        if name == TOKEN:
            return self._account(TOKEN, self.of_token, self.token)
        if name == VIEWER_TOKEN and self.viewer_token:
            return self._account(VIEWER_TOKEN, Role.VIEWER, self.viewer_token)
        user = self.users.user(name) if self.users else None
        return self._account(user.name, user.role, user.hash) if user else None

    def with_token(self, token: str) -> Account | None:
        """The account of a token; None if it is unknown. Takes equally long for all tokens of the same length."""
        given = token.encode("utf-8", "surrogatepass")
        fits = [
            account
            for account in (self.named(TOKEN), self.named(VIEWER_TOKEN))
            if account and hmac.compare_digest(given, account.credential.encode())
        ]
        return fits[0] if fits else None

    async def with_password(self, name: str, password: str) -> Account | None:
        """The account, if the password is right. None for a wrong password, and after the same time for an unknown user
        or one without a password. Raises TooManyLoginsError."""
        user = self.users.user(name) if self.users else None
        written = user.hash if user and user.hash else _NOBODY
        mark = hmac.digest(self._salt, f"{written}\0{password}".encode("utf-8", "surrogatepass"), hashlib.sha256)
        if not hmac.compare_digest(self._verified.get(name, b""), mark):
            if not await self._matches(password[: web_users.LONGEST + 1], written) or written is _NOBODY:
                return None
            self._verified[name] = mark
        return self.named(name)

    def of_proxy(self, name: str) -> Account | None:
        """The user whom the proxy names; None if no role is theirs, or the name is that of a token."""
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


# A person or program that has logged in, and the role that says what it may do.


class Login(StrEnum):
    """The way in which a request shows who sends it."""

    COOKIE = "cookie"  # a browser sends it by itself, so a change needs the form's secret as well
    PROXY = "proxy"  # the proxy names the user of a browser, which is as good as a cookie
    HEADER = "header"  # Authorization, which no other site can set


@dataclass(frozen=True, slots=True)
class Visitor:
    """`name`: as Activity shows it; `csrf`: the secret that each form of this session carries, empty for headers.
    `credential_mark`: of a login in a header, differs after a change of the credential."""

    name: str
    role: Role
    login: Login
    csrf: str = ""
    credential_mark: str = ""

    @property
    def needs_secret(self) -> bool:
        """True if another site could have a browser send the login: a change needs the secret of its form, too."""
        return self.login is not Login.HEADER

    @property
    def may_change(self) -> bool:
        return self.role in CHANGING
