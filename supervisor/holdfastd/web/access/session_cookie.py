"""The signed cookie that keeps a browser logged in."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

from itsdangerous import BadSignature, URLSafeTimedSerializer

from holdfastd.web.access.visitor import Login, Role, Visitor

COOKIE = "holdfast_session"
LASTS = 12 * 3600  # seconds


@dataclass(slots=True)
class SessionCookies:
    """`key`: the secret that signs. The same key after a restart of the process keeps the sessions; a changed token
    ends all of them."""

    key: str
    _signer: URLSafeTimedSerializer = field(init=False)

    def __post_init__(self) -> None:
        self._signer = URLSafeTimedSerializer(
            self.key, salt="holdfast-session", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def issue(self, name: str, role: Role) -> str:
        """The value of the cookie of a new session."""
        return self._signer.dumps([name, str(role), secrets.token_urlsafe(16)])

    def read(self, value: str) -> Visitor | None:
        """None for a cookie that was not issued here, was changed, or is older than LASTS."""
        try:
            name, role, csrf = self._signer.loads(value, max_age=LASTS)
            return Visitor(name, Role(role), Login.COOKIE, csrf)
        except (BadSignature, ValueError, TypeError):
            return None
