"""Serves the application on a socket until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from starlette.applications import Starlette
from uvicorn.config import Config
from uvicorn.server import Server

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.store import open_store
from holdfast_config import Settings
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.allowed_hosts import AllowedHosts
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.application import application
from holdfastd.web.http.connection import PageConnection
from holdfastd.web.http.half_requests import HalfRequests
from holdfastd.web.queue.queue_access import QueueAccess

SHORT = SubmitRetries(attempts=2, seconds=1.0)  # a page says that the store is away, and asks again by itself
GRACE = 2  # seconds for requests that run when the process is to end
HEAD_BYTES = 32_768  # of a request's line and headers
KEEP_ALIVE = 30  # seconds for which a connection without a request is kept: longer than a page waits to ask again


class PageServer(Server):
    """A server that leaves the signals of the process alone."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(settings: Settings, listener: socket.socket, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    """Serve pages until `stop` is set. The store may be away, also at the start. `on_ready` is called once, when
    nothing of the process itself can go wrong any more."""
    async with open_store(settings.redis, settings.postgres) as store:
        limit = settings.max_message_bytes
        manager = TaskManager(store, queue=settings.queue_name, max_message_bytes=limit, retries=SHORT)
        app = application(
            QueueAccess(store, manager, settings), Accounts.of(settings), AllowedHosts.of(settings), Proxy.of(settings)
        )
        server = server_of(app, settings)
        on_ready()
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        app.state.streams.end()
        await app.state.feed.close()
        server.should_exit = True
        await serving
        stopping.cancel()


def server_of(app: Starlette, settings: Settings, connection: type[PageConnection] = PageConnection) -> PageServer:
    """A server of this application, with the bounds on what a connection may cost."""
    config = Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=partial(connection, HalfRequests.of(settings)),  # type: ignore[arg-type]  # it is only called
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=KEEP_ALIVE,
        lifespan="off",
        ws="none",
        ssl_certfile=settings.web_cert_file,
        ssl_keyfile=settings.web_key_file,
        timeout_graceful_shutdown=GRACE,
    )
    config.load()
    return PageServer(config)
