"""The application on a real socket in this process, and clients that read its event streams."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from holdfast.client.manager import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings
from holdfast_config.web_users import Role
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.application import application
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.web_process import SHORT, PageConnection, server_of

if TYPE_CHECKING:
    from holdfast.store import Store

TOKEN = "a-token-of-sixteen-or-more"
WITHIN = 20.0  # seconds, to which no test comes unless it fails


@dataclass(frozen=True)
class Served:
    port: int
    app: Starlette
    store: Store
    manager: TaskManager

    def stream(self, path: str = "/events/stream", *, body: bytes | None = None, **headers: str) -> Stream:
        return Stream(self.port, path, headers, body)


@asynccontextmanager
async def served(
    redis: RedisSettings,
    role: Role = Role.OPERATOR,
    connection: type[PageConnection] = PageConnection,
    accounts: Accounts | None = None,
    proxy: Proxy | None = None,
    **more: Any,
) -> AsyncIterator[Served]:
    """`more`: settings of the web process."""
    settings = Settings(redis_url=redis.url, queue_name=redis.queue, **more)
    async with open_store(redis) as store:
        manager = TaskManager(store, queue=redis.queue, retries=SHORT)
        access = QueueAccess(store, manager, settings)
        app = application(access, accounts or Accounts(TOKEN, role), AllowedHosts(), proxy)
        server = server_of(app, settings, connection)
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                yield Served(listener.getsockname()[1], app, store, manager)
            finally:
                app.state.streams.end()
                await app.state.feed.close()
                server.should_exit = True
                await serving


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the server tells nobody."""
    async with asyncio.timeout(WITHIN):
        while not holds():  # noqa: ASYNC110 - of connections
            await asyncio.sleep(0.01)


@dataclass
class Message:
    event: str = ""
    data: Any = None
    id: str = ""


@dataclass
class Stream:
    """An event stream, from a request with the token; `status` and `headers` as they have come. With a body of JSON it
    is a POST."""

    port: int
    path: str
    given: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])

    async def __aenter__(self) -> Stream:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        wanted = {"host": "127.0.0.1", "accept": "text/event-stream", "authorization": f"Bearer {TOKEN}"} | self.given
        if self.body is not None:
            wanted |= {"content-type": "application/json", "content-length": str(len(self.body))}
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in wanted.items() if value)
        method = "GET" if self.body is None else "POST"
        self.writer.write(f"{method} {self.path} HTTP/1.1\r\n{head}\r\n".encode() + (self.body or b""))
        first, *lines = (await self._within(self.reader.readuntil(b"\r\n\r\n"))).decode().strip().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

    async def message(self) -> Message | None:
        """The next message, with data or a position; None at the end of the stream."""
        found = Message()
        while (line := await self._within(self.reader.readline())) not in {b"", b"0\r\n"}:
            name, _, value = line.decode().strip().partition(": ")
            match name:
                case "event" | "id":
                    setattr(found, name, value)
                case "data":
                    found.data = json.loads(value)
                case "" if line == b"\n" and (found.data is not None or found.id):
                    return found
        return None

    async def named(self, event: str = "") -> Any:
        """The data of the next message of this kind."""
        while (found := await self.message()) is not None:
            if found.event == event and found.data is not None:
                return found.data
        raise AssertionError("the stream has ended")

    async def _within(self, wanted: Any) -> bytes:
        async with asyncio.timeout(WITHIN):
            return bytes(await wanted)
