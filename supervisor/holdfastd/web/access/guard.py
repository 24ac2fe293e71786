"""Stands in front of every page: checks the host, finds out who asks, and sets the headers that protect a browser."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.allowed_hosts import AllowedHosts
from holdfastd.web.access.session_cookie import COOKIE, SessionCookies
from holdfastd.web.access.visitor import Login, Visitor
from holdfastd.web.problems import API, problem

PUBLIC = ("/login", "/static/", "/healthz", "/.well-known/agent-card.json", "/.well-known/agent.json")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PROTECTING = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
FRESH = "no-store"  # pages show what is now, and hold what only this visitor may see


@dataclass(slots=True)
class Guard:
    """ASGI middleware. `scope["visitor"]` is who asks; a page behind the guard always has one, unless it is PUBLIC."""

    app: ASGIApp
    accounts: Accounts
    sessions: SessionCookies
    hosts: AllowedHosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        visitor = scope["visitor"] = self._visitor(scope, headers)
        answer = self._refusal(scope, headers, visitor) or self.app
        await answer(scope, receive, _protecting(scope, send))

    def _visitor(self, scope: Scope, headers: Headers) -> Visitor | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            role = self.accounts.role_of(token.strip())
            return Visitor("token", role, Login.HEADER) if role else None
        cookie = HTTPConnection(scope).cookies.get(COOKIE)
        return self.sessions.read(cookie) if cookie else None

    def _refusal(self, scope: Scope, headers: Headers, visitor: Visitor | None) -> Response | None:
        host = headers.get("host", "")
        if not self.hosts.allows(host):
            return _refused(scope, 421, f"host {host[:100]!r} is not served here: add it with --web-hosts")
        if visitor is None and not scope["path"].startswith(PUBLIC):
            return _log_in_first(scope, headers)
        if scope["method"] not in SAFE and headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return _refused(scope, 403, "another site asks for this change: it is refused")
        return None


def _refused(scope: Scope, status: int, text: str) -> Response:
    return problem(status, text) if scope["path"].startswith(API) else PlainTextResponse(f"{text}\n", status)


def _log_in_first(scope: Scope, headers: Headers) -> Response:
    is_page = not scope["path"].startswith(API)
    if is_page and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
        there = scope["path"] + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
        return RedirectResponse(f"/login?next={quote(there, safe='')}", 303)
    return problem(401, "a token is needed: Authorization: Bearer TOKEN", headers={"www-authenticate": "Bearer"})


def _protecting(scope: Scope, send: Send) -> Send:
    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in PROTECTING.items():
                headers.setdefault(name, value)
            if not scope["path"].startswith("/static/"):
                headers.setdefault("cache-control", FRESH)
        await send(message)

    return protected
