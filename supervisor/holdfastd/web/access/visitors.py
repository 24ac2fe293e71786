"""Finds out who sends a request: the user whom the proxy names, a login in its header, or a session."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from holdfast.errors import StoreError
from holdfast_config.trusted_proxy import customer_of
from holdfastd.web.access.accounts import Account, Accounts, TooManyLoginsError
from holdfastd.web.access.login_attempts import LoginAttempts
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.access.session_cookie import COOKIE, OpenSessions, SessionCookies
from holdfastd.web.access.visitor import Login, Visitor

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
        """None for a stranger, who may log in. Raises RequestRefusedError, and StoreError for a session of a browser,
        which counts if the store has it. For a request of the proxy the scope has the address of the proxy's client
        afterwards."""
        if self.proxy.sends(scope):
            self.proxy.see_through(scope, headers)
            return await self._through_proxy(scope, headers)
        if not self.proxy.may_connect(scope):
            raise RequestRefusedError(403, "logins would come in clear: connect to the proxy in front")
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
            account = await self._account(name, password)
        except TooManyLoginsError:
            raise RequestRefusedError(503, "too many logins at once: try again in 10 s", 10.0) from None
        if account is None:
            self.attempts.failed(address, now, name)
        else:
            self.attempts.succeeded(address, name)
        return account

    async def keeps(self, visitor: Visitor, scope: Scope) -> bool:
        """True if the login of a visitor who has sent this request counts still, with the same role. While the store is
        away, which tells nothing then, a session that counted does."""
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

    async def _account(self, name: str, password: str) -> Account | None:
        return await self.accounts.with_password(name, password) if name else self.accounts.with_token(password)

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
    """Name and password; empty for what is none."""
    try:
        name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return name, password
