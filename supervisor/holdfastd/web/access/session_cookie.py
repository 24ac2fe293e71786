"""The signed cookie that keeps a browser logged in."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from itsdangerous import BadSignature, URLSafeTimedSerializer

from holdfastd.web.access.accounts import Account, Accounts
from holdfastd.web.access.visitor import Login, Visitor

COOKIE = "holdfast_session"
LASTS = 12 * 3600  # seconds


@dataclass(slots=True)
class SessionCookies:
    """The token of the accounts signs: the same token after a restart of the process keeps the sessions, another ends
    all of them. A session ends, too, when its account is gone or has another password."""

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
