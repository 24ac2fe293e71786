"""Finds out who sends a request: the user whom the proxy names, a login in its header, or an open session."""

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
# see it, also after a restart: a session ends everywhere when its user logs out, whoever has a copy of the cookie. A
# store that has lost the list ends all sessions. While the store is away no session counts.

COOKIE = "holdfast_session"
LASTS = 12 * 3600  # seconds


@dataclass(slots=True)
class SessionCookies:
    """The token of the accounts signs: another token ends all sessions. A session ends, too, when its account is gone
    or has another password."""

    accounts: Accounts
    _signer: URLSafeTimedSerializer = field(init=False)

    def __post_init__(self) -> None:
        self._signer = URLSafeTimedSerializer(
            self.accounts.token, salt="holdfast-session", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def issue(self, account: Account) -> str:
        """The value of the cookie of a new session."""
        return self._signer.dumps([account.name, self._mark("session", account), secrets.token_urlsafe(16)])

    def read(self, value: str) -> Visitor | None:
        """The visitor of a cookie, with the account's present role. None if the cookie was forged or changed, is older
        than LASTS, or its account has changed since."""
        try:
            name, mark, csrf = self._signer.loads(value, max_age=LASTS)
        except (BadSignature, ValueError, TypeError):
            return None
        account = self.accounts.named(name) if isinstance(name, str) else None
        if account is None or not hmac.compare_digest(str(mark).encode(), self._mark("session", account).encode()):
            return None
        return Visitor(account.name, account.role, Login.COOKIE, str(csrf))

    def through_proxy(self, account: Account) -> Visitor:
        """A visitor whom the proxy names in each request: the secret of the forms is the account's."""
        return Visitor(account.name, account.role, Login.PROXY, self._mark("proxy", account))

    def with_header(self, account: Account) -> Visitor:
        """A visitor who sends the credential in each request."""
        return Visitor(account.name, account.role, Login.HEADER, credential_mark=self._mark("header", account))

    def _mark(self, purpose: str, account: Account) -> str:
        text = "\0".join((purpose, account.name, account.credential))
        return hmac.digest(self.accounts.token.encode(), text.encode(), hashlib.sha256).hex()[:32]


@dataclass(slots=True)
class OpenSessions:
    """The list of open sessions. A session is stored as a digest of its secret, so a reader of the store can make no
    cookie or form from it. Each call raises StoreError."""

    access: QueueAccess

    async def begin(self, visitor: Visitor) -> None:
        now = round(time.time() * 1000)
        begin = self.access.store.begin_web_session
        await self.access.manager.retries.call(begin, _named(visitor), now, now + LASTS * 1000)

    async def end(self, visitor: Visitor) -> None:
        await self.access.manager.retries.call(self.access.store.end_web_session, _named(visitor))

    async def has(self, visitor: Visitor) -> bool:
        """True for a session that was begun and has not ended."""
        return await self.access.manager.retries.call(self.access.store.has_web_session, _named(visitor))


def _named(visitor: Visitor) -> str:
    return f"{_digest('owner', visitor.name)}:{_digest('session', visitor.csrf)}"


def _digest(what: str, text: str) -> str:
    return hashlib.sha256(f"{what}\0{text}".encode()).hexdigest()[:32]


# Slows down guesses: a few wrong logins are free, then each costs a wait.
#
# Wrong logins are counted for an account from one address, for an address, and for an account. One who has logged in to
# an account from an address is slowed down there by the wrong logins of that pair alone: guesses by others lock nobody
# out of a place that they have logged in from.

FREE = 5  # wrong logins in a row without a wait, to one account from one address
FREE_OF_ADDRESS = 30
FREE_OF_ACCOUNT = 50
WAIT = 10.0  # seconds that each further one costs
MOST = 10_000  # pairs, addresses and accounts that are remembered; the one that failed longest ago is forgotten first


@dataclass(slots=True)
class LoginAttempts:
    """Moments are seconds of one steady clock, which the caller reads. `account` is empty for a token."""

    _failed: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict[tuple[str, str], tuple[int, float]])
    _known: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])

    def wait(self, address: str, now: float, account: str = "") -> float:
        """Seconds until this address may try again to log in to this account; 0: now."""
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


OPEN = ("/static/", "/healthz", "/.well-known/")  # these ask nobody for a login


class RequestRefusedError(Exception):
    """The request is refused: `status`, and the sentence that says why. `wait`: seconds until it may come again."""

    def __init__(self, status: int, text: str, wait: float = 0.0) -> None:
        self.status, self.wait = status, wait
        super().__init__(text)


@dataclass(slots=True)
class Visitors:
    """`_turns`: held by the login that is checked now, of those to one account from one place."""

    accounts: Accounts
    sessions: SessionCookies
    open: OpenSessions
    proxy: Proxy = field(default_factory=Proxy)
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    _turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(
        default_factory=WeakValueDictionary[tuple[str, str], asyncio.Lock]
    )

    async def of(self, scope: Scope, headers: Headers) -> Visitor | None:
        """The visitor who sends the request; None for a stranger, who may log in. Raises RequestRefusedError, or
        StoreError if the store cannot confirm a browser's session. For a request of the proxy, this puts the address of
        the proxy's client into the scope."""
        if self.proxy.sends(scope):
            self.proxy.see_through(scope, headers)
            return await self._through_proxy(scope, headers)
        if not self.proxy.may_connect(scope):
            raise RequestRefusedError(403, "logins would be sent in clear: connect to the proxy in front")
        if headers.get("authorization"):
            return await self._of_header(scope, headers)
        if scope["path"].startswith(OPEN):
            return None
        visitor = self._of_cookie(scope)
        return visitor if visitor and await self.open.has(visitor) else None

    def _of_cookie(self, scope: Scope) -> Visitor | None:
        return self.sessions.read(HTTPConnection(scope).cookies.get(COOKIE, ""))

    async def log_in(self, address: str, name: str, password: str) -> Account | None:
        """The account of this login; of a token if `name` is empty. Raises RequestRefusedError where they come too
        often. Those to one account from one address are checked one after the other, so that each counts for the
        next."""
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
        """True if the visitor's login is still valid with the same role. While the store is away, a session that was
        valid before stays so."""
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
                403, f"user {name} has no role here: the users file or --web-proxy-role gives one"
            )
        visitor = await self._of_header(scope, headers)
        if visitor is None and not scope["path"].startswith(OPEN):
            raise RequestRefusedError(401, "the proxy names no user, and the request has no token")
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
    """Name and password of a Basic header; empty if it is none."""
    try:
        name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return name, password
