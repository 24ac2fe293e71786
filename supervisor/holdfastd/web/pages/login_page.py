"""The login page: logs a user in with a name and a password or with a token, and logs the user out."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfastd.web.access.accounts import Login
from holdfastd.web.access.forms import read_body, visitor_of
from holdfastd.web.access.logins import COOKIE, LASTS, RequestRefusedError, Visitors
from holdfastd.web.rendering import page

MOST_BYTES = 4096


@dataclass(slots=True)
class LoginPage:
    visitors: Visitors

    async def show(self, request: Request) -> Response:
        return self._form(request, request.query_params.get("next", "/"))

    async def log_in(self, request: Request) -> Response:
        """Check name and password, or the token. If they are right, go to the page that the user wanted."""
        body = (await read_body(request, MOST_BYTES)).decode("utf-8", "replace")
        fields = dict(parse_qsl(body, keep_blank_values=True))
        name, there = fields.get("name", "").strip(), _own_path(fields.get("next", "/"))
        address = request.client.host if request.client else ""
        try:
            account = await self.visitors.log_in(address, name, fields.get("password" if name else "token", ""))
        except RequestRefusedError as error:
            refusal = self._form(request, there, str(error), error.status, name)
            refusal.headers["retry-after"] = str(max(1, round(error.wait)))
            return refusal
        if account is None:
            problem = "this name and password do not fit" if name else "this token is not known"
            return self._form(request, there, problem, 403, name)
        cookie = self.visitors.sessions.issue(account)
        if visitor := self.visitors.sessions.read(cookie):
            await self.visitors.open.begin(visitor)
            await self._end_earlier(request)
        answer = RedirectResponse(there, 303)
        answer.set_cookie(
            COOKIE,
            cookie,
            max_age=LASTS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def log_out(self, request: Request) -> Response:
        """End the session: no web process accepts a copy of its cookie any more."""
        visitor = visitor_of(request)
        if visitor.login is Login.COOKIE:
            await self.visitors.open.end(visitor)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE)
        return answer

    async def _end_earlier(self, request: Request) -> None:
        """End the session of the browser's earlier cookie. The new cookie replaces that cookie, so its user could not
        log out any more."""
        earlier = request.scope["visitor"]
        if earlier is not None and earlier.login is Login.COOKIE:
            await self.visitors.open.end(earlier)

    def _form(self, request: Request, there: str, problem: str = "", status: int = 200, name: str = "") -> Response:
        values = {"there": _own_path(there), "problem": problem, "name": name}
        return page(request, "login.html", status, with_users=self.visitors.accounts.users is not None, **values)


def _own_path(there: str) -> str:
    """The path, if it is on this site; otherwise `/`."""
    return there if there.startswith("/") and not there.startswith(("//", "/\\")) else "/"
