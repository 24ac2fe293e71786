"""Logs visitors in and slows down guesses. Finds the visitor who sends a request: by the proxy's header, by the header
Authorization, or by an open session."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from holdfast.errors import StoreError
from holdfast_config.addresses import customer_of
from holdfastd.web.access.accounts import Account, Accounts, Login, TooManyLoginsError, Visitor
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.queue.queue_access import QueueAccess

# A browser that is logged in: the signed cookie that it sends, and the list of sessions that are open.
#
# The cookie says whose session it is and since when. The list is in the store, so that all web processes of the queue
# see it, also after a restart. When the user logs out, the session ends everywhere, and copies of its cookie are
# useless. If the store has lost the list, all sessions have ended. While the store is away, no session is valid.

COOKIE = "holdfast_session"
LASTS = 12 * 3600  # seconds


@dataclass(slots=True)
class SessionCookies:
    """The signed cookies of sessions. The key is the token of the accounts: another token ends all sessions. A session
    also ends when its account is gone or has another password."""

    accounts: Accounts
    _signer: URLSafeTimedSerializer = field(init=False)

    def __post_init__(self) -> None:
        self._signer = URLSafeTimedSerializer(
            self.accounts.token, salt="holdfast-session", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def issue(self, account: Account) -> str:
        """The cookie value of a new session."""
        return self._signer.dumps([account.name, self._mark("session", account), secrets.token_urlsafe(16)])

    def read(self, value: str) -> Visitor | None:
        """The visitor of a cookie, with the present role of the account. None if the cookie was forged, is older than
        LASTS, or the account has changed since."""
        try:
            name, mark, csrf = self._signer.loads(value, max_age=LASTS)
        except (BadSignature, ValueError, TypeError):
            return None
        account = self.accounts.named(name) if isinstance(name, str) else None
        if account is None or not hmac.compare_digest(str(mark).encode(), self._mark("session", account).encode()):
            return None
        return Visitor(account.name, account.role, Login.COOKIE, str(csrf))

    def through_proxy(self, account: Account) -> Visitor:
        """A visitor whom the proxy names in each request. All forms of the account have the same secret."""
        return Visitor(account.name, account.role, Login.PROXY, self._mark("proxy", account))

    def with_header(self, account: Account) -> Visitor:
        """A visitor who sends the credential in each request."""
        return Visitor(account.name, account.role, Login.HEADER, credential_mark=self._mark("header", account))

    def _mark(self, purpose: str, account: Account) -> str:
        text = "\0".join((purpose, account.name, account.credential))
        return hmac.digest(self.accounts.token.encode(), text.encode(), hashlib.sha256).hex()[:32]


@dataclass(slots=True)
class OpenSessions:
    """The list of open sessions. The store has only a digest of a session's secret, so a reader of the store cannot
    make a cookie or a form from it. The methods raise StoreError."""

    access: QueueAccess

    async def begin(self, visitor: Visitor) -> None:
        now = round(time.time() * 1000)
        begin = self.access.store.begin_web_session
        await self.access.manager.retries.call(begin, _named(visitor), now, now + LASTS * 1000)

    async def end(self, visitor: Visitor) -> None:
        await self.access.manager.retries.call(self.access.store.end_web_session, _named(visitor))

    async def has(self, visitor: Visitor) -> bool:
        """True if the session was begun and has not ended."""
        return await self.access.manager.retries.call(self.access.store.has_web_session, _named(visitor))


def _named(visitor: Visitor) -> str:
    return f"{_digest('owner', visitor.name)}:{_digest('session', visitor.csrf)}"


def _digest(what: str, text: str) -> str:
    return hashlib.sha256(f"{what}\0{text}".encode()).hexdigest()[:32]


# Slows down guesses: a few wrong logins cost nothing, each further one costs a wait.
#
# Wrong logins are counted three times: for the account from this address, for the address, and for the account. If a
# user has once logged in to the account from this address, only the first count matters there. So guesses from other
# addresses do not lock a user out.

FREE = 5  # wrong logins without a wait, to one account from one address
FREE_OF_ADDRESS = 30
FREE_OF_ACCOUNT = 50
WAIT = 10.0  # seconds that each further wrong login costs
MOST = 10_000  # remembered pairs, addresses and accounts; the one whose last failure is oldest is forgotten first


@dataclass(slots=True)
class LoginAttempts:
    """The wrong logins so far. `now` is the monotonic clock in seconds, which the caller reads. `account` is empty for
    a token."""

    _failed: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict[tuple[str, str], tuple[int, float]])
    _known: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])

    def wait(self, address: str, now: float, account: str = "") -> float:
        """Seconds until this address may try to log in to this account again; 0: at once."""
        place = customer_of(address)
        bounds = [((place, account), FREE)]
        if (place, account) not in self._known:
            bounds += [((place, "*"), FREE_OF_ADDRESS), (("*", account), FREE_OF_ACCOUNT)]
        return max(self._wait(key, free, now) for key, free in bounds)

    def failed(self, address: str, now: float, account: str = "") -> None:
        place = customer_of(address)
        for key in ((place, account), (place, "*"), ("*", account)):
            wrong, last = self._failed.pop(key, (0, now))
            forgiven = int((now - last) / WAIT)
            self._failed[key] = (max(0, wrong - forgiven) + 1, now)
        _forget(self._failed)

    def succeeded(self, address: str, account: str = "") -> None:
        pair = (customer_of(address), account)
        self._failed.pop(pair, None)
        self._known.pop(pair, None)
        self._known[pair] = None
        _forget(self._known)

    def _wait(self, key: tuple[str, str], free: int, now: float) -> float:
        wrong, last = self._failed.get(key, (0, now))
        return max(0.0, last + WAIT - now) if wrong >= free else 0.0


def _forget(remembered: dict[tuple[str, str], Any]) -> None:
    while len(remembered) > MOST:
        remembered.pop(next(iter(remembered)))


OPEN = ("/static/", "/healthz", "/.well-known/")  # paths that need no login


class RequestRefusedError(Exception):
    """The request is refused. `status`: the HTTP status of the answer. `wait`: seconds after which the client may try
    again."""

    def __init__(self, status: int, text: str, wait: float = 0.0) -> None:
        self.status, self.wait = status, wait
        super().__init__(text)


@dataclass(slots=True)
class Visitors:
    """Finds the visitor of each request. `_turns`: one lock for each pair of address and account; a login holds it
    while it is checked."""

    accounts: Accounts
    sessions: SessionCookies
    open: OpenSessions
    proxy: Proxy = field(default_factory=Proxy)
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    _turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(
        default_factory=WeakValueDictionary[tuple[str, str], asyncio.Lock]
    )

    async def of(self, scope: Scope, headers: Headers) -> Visitor | None:
        """The visitor who sends the request; None for a stranger, who may log in. Raises RequestRefusedError. Raises
        StoreError if the store cannot confirm a browser's session. If the proxy sends the request, this sets the
        address in the scope to that of the proxy's client."""
        if self.proxy.sends(scope):
            self.proxy.see_through(scope, headers)
            return await self._through_proxy(scope, headers)
        if not self.proxy.may_connect(scope):
            raise RequestRefusedError(
                403, "this address has no TLS, so a login could be read on its way: connect to the proxy in front of it"
            )
        if headers.get("authorization"):
            return await self._of_header(scope, headers)
        if scope["path"].startswith(OPEN):
            return None
        visitor = self._of_cookie(scope)
        return visitor if visitor and await self.open.has(visitor) else None

    def _of_cookie(self, scope: Scope) -> Visitor | None:
        return self.sessions.read(HTTPConnection(scope).cookies.get(COOKIE, ""))

    async def log_in(self, address: str, name: str, password: str) -> Account | None:
        """The account of this login; None if the login is wrong. If `name` is empty, `password` is a token. Logins to
        one account from one address are checked one after the other, so that a failure counts for the next. Raises
        RequestRefusedError after too many wrong logins."""
        turn = self._turns.setdefault((customer_of(address), name), asyncio.Lock())
        async with turn:
            return await self._log_in(address, name, password)

    async def _log_in(self, address: str, name: str, password: str) -> Account | None:
        now = time.monotonic()
        if wait := self.attempts.wait(address, now, name):
            raise RequestRefusedError(429, f"too many wrong logins: try again in {wait:.0f} s", wait)
        try:
            account = await self.accounts.with_password(name, password) if name else self.accounts.with_token(password)
        except TooManyLoginsError:
            raise RequestRefusedError(503, "too many logins at once: try again in 10 s", 10.0) from None
        if account is None:
            self.attempts.failed(address, now, name)
        else:
            self.attempts.succeeded(address, name)
        return account

    async def keeps(self, visitor: Visitor, scope: Scope) -> bool:
        """True if the visitor's login is still valid, with the same role. While the store is away, a browser's session
        stays valid."""
        match visitor.login:
            case Login.PROXY:
                account = self.accounts.of_proxy(visitor.name)
                return account is not None and self.sessions.through_proxy(account) == visitor
            case Login.HEADER:
                account = self.accounts.named(visitor.name)
                return account is not None and self.sessions.with_header(account) == visitor
            case Login.COOKIE:
                with suppress(StoreError):
                    return self._of_cookie(scope) == visitor and await self.open.has(visitor)
                return True

    async def _through_proxy(self, scope: Scope, headers: Headers) -> Visitor | None:
        try:
            name = self.proxy.names(headers)
        except ValueError as error:
            raise RequestRefusedError(400, str(error)) from None
        if name:
            if account := self.accounts.of_proxy(name):
                return self.sessions.through_proxy(account)
            raise RequestRefusedError(
                403, f"user {name} has no role: give the user a role in the users file or by --web-proxy-role"
            )
        visitor = await self._of_header(scope, headers)
        if visitor is None and not scope["path"].startswith(OPEN):
            raise RequestRefusedError(401, "the proxy names no user in its header, and the request has no token")
        return visitor

    async def _of_header(self, scope: Scope, headers: Headers) -> Visitor | None:
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        account: Account | None = None
        if scheme.lower() == "bearer":
            account = self.accounts.with_token(rest.strip())
        elif scheme.lower() == "basic" and self.accounts.users is not None:
            name, password = _basic(rest.strip())
            client = scope.get("client")
            account = await self.log_in(client[0] if client else "", name, password) if name else None
        return self.sessions.with_header(account) if account else None


def _basic(encoded: str) -> tuple[str, str]:
    """Name and password of a Basic header; both empty if the header cannot be read."""
    try:
        name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return name, password
