"""The middleware in front of every page: it checks the host, finds the visitor, and sets headers that protect users."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import StoreError
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.logins import RequestRefusedError, Visitors
from holdfastd.web.problems import API, problem
from holdfastd.web.queue.queue_access import WARNING, note, origin

PUBLIC = ("/login", "/static/", "/healthz", "/.well-known/agent-card.json", "/.well-known/agent.json")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PROTECTING = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
FRESH = "no-store"  # a page shows the present state, and may hold data that only this visitor may see


@dataclass(slots=True)
class Guard:
    """ASGI middleware. It sets `scope["visitor"]` to the visitor; only PUBLIC paths are served without one. `failed`
    answers if the store cannot say whether a session is valid."""

    app: ASGIApp
    visitors: Visitors
    hosts: AllowedHosts
    failed: Callable[[Request, Exception], Awaitable[Response]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = (
            _two_ends(scope, headers)
            or self._wrong_place(scope, headers)
            or await self._let_in(scope, headers)
            or self.app
        )
        with suppress(ClientDisconnect):  # the body of the request was cut off: nobody waits for an answer
            await answer(scope, receive, _protecting(scope, headers, send))

    def _wrong_place(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if self.hosts.allows(host):
            return None
        return _refused(scope, 421, f"host {host[:100]!r} is not served here: add it with --web-hosts")

    async def _let_in(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer that refuses the request; None if it may go on, with the visitor in the scope."""
        scope["visitor"] = None
        try:
            scope["visitor"] = await self.visitors.of(scope, headers)
        except RequestRefusedError as error:
            return _refused(scope, error.status, str(error), error.wait)
        except StoreError as error:
            if not scope["path"].startswith(PUBLIC):
                return await self.failed(Request(scope), error)
        if scope["visitor"] is None and not scope["path"].startswith(PUBLIC):
            return _log_in_first(scope, headers, with_users=self.visitors.accounts.users is not None)
        if scope["method"] not in SAFE and self._is_of_another_site(headers):
            text = "the change was refused: a page of another site asked for it"
            await _note(scope, text)
            return _refused(scope, 403, text)
        return None

    def _is_of_another_site(self, headers: Headers) -> bool:
        """True if the browser says that another site sent the request. Older browsers send only the header Origin,
        programs send neither header."""
        if (site := headers.get("sec-fetch-site")) is not None:
            return site not in {"same-origin", "none"}
        if (origin := headers.get("origin")) is None:
            return False
        try:
            there = urlsplit(origin).netloc.lower()
        except ValueError:  # no browser sends such an origin
            return True
        return there != headers.get("host", "").lower() and not self.hosts.is_named(there)


def _two_ends(scope: Scope, headers: Headers) -> Response | None:
    """The refusal of a request that has both Content-Length and Transfer-Encoding; None for other requests. A proxy and
    this server may find different ends of such a body. The rest of the body would then be read as a request that the
    proxy never saw."""
    if "transfer-encoding" not in headers or "content-length" not in headers:
        return None
    answer = _refused(scope, 400, "send either Content-Length or Transfer-Encoding, not both")
    answer.headers["connection"] = "close"
    return answer


async def _note(scope: Scope, why: str) -> None:
    """Write to Activity a change that is refused before its form is read. Requests of strangers get no entry."""
    request, visitor = Request(scope), scope["visitor"]
    if visitor is not None:
        change = scope["path"].removeprefix("/")
        await AskedChange(visitor.name, origin(request), partial(note, request), change, refusal=why).write()


def _refused(scope: Scope, status: int, text: str, wait: float = 0.0) -> Response:
    headers = {"retry-after": str(max(1, round(wait)))} if wait else {}
    if scope["path"].startswith(API):
        return problem(status, text, headers=headers)
    return PlainTextResponse(f"{text}\n", status, headers)


def _log_in_first(scope: Scope, headers: Headers, *, with_users: bool) -> Response:
    is_page = not scope["path"].startswith(API)
    if is_page and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
        there = scope["path"] + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
        return RedirectResponse(f"/login?next={quote(there, safe='')}", 303)
    text, asks = "a token is needed: Authorization: Bearer TOKEN", "Bearer"
    if with_users and "sec-fetch-mode" not in headers:  # a browser would open its own login window
        text, asks = f"{text}, or the Basic login of a user", 'Bearer, Basic realm="Holdfast", charset="UTF-8"'
    return problem(401, text, headers={"www-authenticate": asks})


def _protecting(scope: Scope, headers: Headers, send: Send) -> Send:
    """A `send` that adds the headers that protect a browser, and the line of a change that Activity does not list.

    After a chunked request it closes the connection. A proxy and this server may find different ends of such a body.
    The rest would then be read as a request that the proxy never saw.
    """
    is_last = "transfer-encoding" in headers

    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            answered = MutableHeaders(scope=message)
            for name, value in PROTECTING.items():
                answered.setdefault(name, value)
            if not scope["path"].startswith("/static/"):
                answered.setdefault("cache-control", FRESH)
            if is_last:
                answered["connection"] = "close"
            if warning := scope.get(WARNING):
                answered[WARNING] = warning.encode("ascii", "backslashreplace").decode()
        await send(message)

    return protected
