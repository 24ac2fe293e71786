"""Log in with a token, and out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.login_attempts import LoginAttempts
from holdfastd.web.access.session_cookie import COOKIE, LASTS, SessionCookies
from holdfastd.web.forms import read_body
from holdfastd.web.rendering import page

MOST_BYTES = 4096


@dataclass(slots=True)
class LoginPage:
    accounts: Accounts
    sessions: SessionCookies
    attempts: LoginAttempts = field(default_factory=LoginAttempts)

    async def show(self, request: Request) -> Response:
        return _form(request, request.query_params.get("next", "/"))

    async def log_in(self, request: Request) -> Response:
        """Checks the token, and goes on to the page that was asked for."""
        fields = parse_qs((await read_body(request, MOST_BYTES)).decode("utf-8", "replace"))
        there = _own_path(fields.get("next", ["/"])[0])
        address, now = request.client.host if request.client else "", time.monotonic()
        if wait := self.attempts.wait(address, now):
            return _form(request, there, f"too many wrong tokens: try again in {wait:.0f} s", 429)
        role = self.accounts.role_of(fields.get("token", [""])[0].strip())
        if role is None:
            self.attempts.failed(address, now)
            return _form(request, there, "this token is not known", 403)
        self.attempts.succeeded(address)
        answer = RedirectResponse(there, 303)
        answer.set_cookie(
            COOKIE,
            self.sessions.issue("token", role),
            max_age=LASTS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def log_out(self, request: Request) -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE)
        return answer


def _own_path(there: str) -> str:
    """A path of this site; anything else leads to the first page."""
    return there if there.startswith("/") and not there.startswith(("//", "/\\")) else "/"


def _form(request: Request, there: str, problem: str = "", status: int = 200) -> Response:
    return page(request, "login.html", status, there=_own_path(there), problem=problem)
