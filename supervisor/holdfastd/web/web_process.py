"""The web process: its connections, its server, and its life from the fork to the exit status."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import h11
import structlog
import uvloop
from starlette.applications import Starlette
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.exits import ChildExit
from holdfast.ipc.channel import Beat, Leave, Ready
from holdfast.ipc.child_end import ParentLink
from holdfast.store import open_store
from holdfast.store.redis import scripts
from holdfast_config import Settings
from holdfast_config.addresses import parse_proxy
from holdfast_config.standard_error import STREAM
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.control.local_supervisor import LocalSupervisor
from holdfastd.control.open_connections import AcceptLoop, OpenConnection, OpenConnections
from holdfastd.parent.child_builder import ChildBuilder, build_scripts
from holdfastd.web import rendering
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.application import application
from holdfastd.web.queue.queue_access import QueueAccess

# A connection from a browser or a program, with limits on the time for which a slow client may keep it.

_COMING = (h11.IDLE, h11.SEND_BODY)
_NOT_ANSWERED = (h11.IDLE, h11.SEND_RESPONSE)


class PageConnection(H11Protocol):
    """Closes the connection of a client that sends a request slowly, or does not read its answer.

    It also closes a connection that OpenConnections chooses when too many are open.
    """

    request_within = 20.0  # seconds from the beginning of a connection, or of a later request, to the request's end
    read_within = 30.0  # seconds for which a client may read nothing while the process has data to send

    _request: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def __init__(self, connections: OpenConnections, place: OpenConnection, **given: Any) -> None:
        super().__init__(**given)
        self._places, self._place = connections, place

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._place.end = transport.abort
        self._begin_request()
        if self._place.is_over:  # OpenConnections has closed it already
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._request is None:
            self._begin_request()
        super().data_received(data)
        if self.conn.their_state not in _COMING:
            self._end_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._request is None and self.cycle.response_complete:
            self._places.idle(self._place)

    def _begin_request(self) -> None:
        self._request = self.loop.call_later(self.request_within, self.transport.abort)
        self._places.half(self._place)

    def _end_request(self) -> None:
        self._request = _without(self._request)
        self._places.answering(self._place)

    def send_400_response(self, msg: str) -> None:
        """Answer a broken request with 400, unless its answer has begun. The application learns that the client is
        gone."""
        if self.conn.our_state in _NOT_ANSWERED:
            super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison]  # before the first request
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _should_upgrade(self) -> bool:
        return False  # there are no web sockets: a request for one gets an ordinary answer

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self._stall or self.loop.call_later(self.read_within, self.transport.abort)
        if self._request is None:
            self._places.idle(self._place)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall = _without(self._stall)
        if self._request is None and not self.cycle.response_complete:
            self._places.answering(self._place)

    def connection_lost(self, exc: Exception | None) -> None:
        self._request, self._stall = _without(self._request), _without(self._stall)
        self._places.over(self._place)
        super().connection_lost(exc)


def _without(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer and return None, so that the caller can empty the field that held the timer."""
    if timer is not None:
        timer.cancel()
    return None


# Serves the application on a socket until it is told to stop.

SHORT = SubmitRetries(attempts=2, seconds=1.0)  # short: a page says that the store is away, and reloads by itself
GRACE = 2  # seconds that running requests get when the process is to end
HEAD_BYTES = 32_768  # maximum length of a request's line and headers
HANDSHAKE = 20.0  # seconds for TLS
GOODBYE = 5.0  # seconds for the end of TLS: many clients do not answer it
KEEP_ALIVE = 30  # seconds for which a connection without a request is kept: longer than a page waits to ask again


class PageServer(Server):
    """An HTTP server that counts a connection from its accept on, and sets no signal handlers."""

    def __init__(self, config: Config, connections: OpenConnections, connection: type[PageConnection]) -> None:
        super().__init__(config)
        self._connections, self._connection = connections, connection

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.servers = [AcceptLoop(each, self._connections, self._connect) for each in sockets or ()]  # type: ignore[misc]
        self.started = True

    async def _connect(self, stream: socket.socket, place: OpenConnection) -> None:
        def connection() -> PageConnection:
            places, state = self._connections, self.server_state
            return self._connection(places, place, config=self.config, server_state=state, app_state={})

        tls = self.config.ssl
        limits = {} if tls is None else {"ssl_handshake_timeout": HANDSHAKE, "ssl_shutdown_timeout": GOODBYE}
        await asyncio.get_running_loop().connect_accepted_socket(connection, stream, ssl=tls, **limits)


async def serve(settings: Settings, listener: socket.socket, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    """Serve pages until `stop` is set. The store may be away, also at the start. `on_ready` is called once, when the
    server is set up."""
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
        reading = asyncio.create_task(app.state.memory.read_on(LocalSupervisor(settings)))
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        app.state.streams.end()
        await app.state.feed.close()
        server.should_exit = True
        await serving
        stopping.cancel()
        reading.cancel()


def server_of(app: Starlette, settings: Settings, connection: type[PageConnection] = PageConnection) -> PageServer:
    """A server of this application, with limits on the size of requests and on the time of connections."""
    trusted = parse_proxy(settings.web_trust_proxy) if settings.web_trust_proxy else None
    connections = OpenConnections.bounded(trusted)
    config = Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=connection,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=KEEP_ALIVE,
        lifespan="off",
        ws="none",
        ssl_certfile=settings.web_cert_file,
        ssl_keyfile=settings.web_key_file,
        timeout_graceful_shutdown=GRACE,
    )
    config.load()
    return PageServer(config, connections, connection)


BEAT_EVERY = 1.0  # seconds

_log = structlog.get_logger("holdfast.web")


def run(settings: Settings, listener: socket.socket | None, channel: socket.socket) -> int:
    """Serve until the parent sends `Leave` or is gone; the answer is the exit status."""
    assert listener is not None
    _build_templates()
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    try:
        return uvloop.run(_live(settings, listener, ParentLink(channel)))
    except Exception:
        _log.exception("the web process failed")
        return ChildExit.BUG


def run_alone(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    scripts.SHIPPED.update(build_scripts().take() or {})  # in a pool the parent has built them
    _build_templates()

    async def live() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await serve(settings, listener, stop, lambda: None)

    uvloop.run(live())


def _build_templates() -> None:
    """Have the templates compiled in a child process, before this process has a loop or a thread."""
    rendering.BUILT.code = ChildBuilder[dict[str, bytes]].start(rendering.compiled_templates).take() or {}


async def _live(settings: Settings, listener: socket.socket, link: ParentLink) -> ChildExit:
    stop, ready = asyncio.Event(), asyncio.Event()
    heeding = asyncio.create_task(_heed_parent(link, stop))
    beating = asyncio.create_task(_report(link, ready))
    await serve(settings, listener, stop, ready.set)
    beating.cancel()
    return await heeding


async def _heed_parent(link: ParentLink, stop: asyncio.Event) -> ChildExit:
    message = await link.receive()
    while not isinstance(message, Leave | None):
        message = await link.receive()
    stop.set()
    return ChildExit.ORPHANED if message is None else ChildExit.OK


async def _report(link: ParentLink, ready: asyncio.Event) -> None:
    """Send `Ready` to the parent, then heartbeats. Earlier connections wait in the queue of the listening socket."""
    await ready.wait()
    link.send(Ready())
    while True:
        link.send(Beat())
        await asyncio.sleep(BEAT_EVERY)
