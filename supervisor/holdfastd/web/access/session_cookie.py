"""A browser that is logged in: the signed cookie that it sends, and the list of sessions that are open.

The cookie says whose session it is and since when. The list is in the store, so that all web processes of the queue
see it, also after a restart: a session ends everywhere when its user logs out, whoever has a copy of the cookie. A
store that has lost the list ends all sessions. While the store is away no session counts.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field

from itsdangerous import BadSignature, URLSafeTimedSerializer

from holdfastd.web.access.accounts import Account, Accounts
from holdfastd.web.access.visitor import Login, Visitor
from holdfastd.web.queue.queue_access import QueueAccess

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
        """None for a cookie that was not issued here, was changed, is older than LASTS, or is of an account that has
        changed since. The role is that of the account now."""
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
    """A session is named by a digest of its secret: who reads the store can make no cookie and no form of it. Each call
    raises StoreError."""

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
