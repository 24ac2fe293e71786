"""The application over a queue on a real server, asked as browsers and programs ask it, in this process."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

import httpx

from holdfast.client.manager import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings
from holdfast_config.web_users import Role
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.application import application
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.web_process import SHORT

if TYPE_CHECKING:
    from holdfast.store import Store

TOKEN = "a token of sixteen or more"
HTML = {"accept": "text/html"}
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass(frozen=True)
class Site:
    """`browser` has logged in; `program` sends the token as a header; `stranger` sends nothing."""

    store: Store
    manager: TaskManager
    browser: httpx.AsyncClient
    program: httpx.AsyncClient
    stranger: httpx.AsyncClient
    settings: Settings

    async def page(self, path: str, status: int = 200) -> str:
        answer = await self.browser.get(path, headers=HTML)
        assert answer.status_code == status, answer.text
        return unescape(answer.text)

    async def csrf(self) -> str:
        """The secret of the browser's session, as its forms carry it."""
        found = _CSRF.search((await self.browser.get("/lanes")).text)
        assert found
        return found[1]

    async def change(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of a page."""
        return await self.browser.post(path, data={"csrf": await self.csrf(), **fields}, headers=HTML)


@asynccontextmanager
async def site(
    redis: RedisSettings,
    role: Role = Role.OPERATOR,
    hosts: AllowedHosts | None = None,
    accounts: Accounts | None = None,
    proxy: Proxy | None = None,
    peer: tuple[str, int] | None = ("192.0.2.7", 4000),
    is_there: bool = True,
    manager_of: Callable[..., TaskManager] = TaskManager,
    **more: Any,
) -> AsyncIterator[Site]:
    """`more`: settings of the dashboard. `is_there`: False for a store that is away, where nobody can log in."""
    settings = Settings(redis_url=redis.url, queue_name=redis.queue, **more)
    async with open_store(redis) as store:
        manager = manager_of(store, queue=redis.queue, retries=SHORT)
        access = QueueAccess(store, manager, settings)
        app = application(access, accounts or Accounts(TOKEN, role), hosts or AllowedHosts(), proxy)

        def client(**options: object) -> httpx.AsyncClient:
            return httpx.AsyncClient(
                transport=httpx.ASGITransport(app, client=peer),  # type: ignore[arg-type]  # None: a unix socket
                base_url="http://127.0.0.1",
                **options,  # type: ignore[arg-type]
            )

        async with (
            client() as browser,
            client(headers={"authorization": f"Bearer {TOKEN}"}) as program,
            client() as stranger,
        ):
            if proxy is None and is_there:
                answer = await browser.post("/login", data={"token": TOKEN})
                assert answer.status_code == 303, answer.text
            yield Site(store, manager, browser, program, stranger, settings)
