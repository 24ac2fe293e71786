"""Limits the connections of clients, so that no client takes all places or all descriptors of a process.

A connection counts from its accept to its end. It is in one of three states:

- half: its handshake or its request is not complete. An address may have a limited number of half connections. One more
  ends the oldest of them.
- idle: it waits for its next request, or for its client to read the answer.
- answering: the process answers a complete request. Such a connection is never ended here.

If all places are taken, a new connection ends another one. Half connections end before idle ones. Of several half or
idle connections, the oldest one of the address with the most connections ends. So a client that sends its requests at
once is served, even if attackers share its address. The proxy of the settings, and the users of a unix socket, stand
for many clients. The number of their half connections has no limit, and their connections are ended last.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from holdfast_config.addresses import TrustedProxy, customer_of
from holdfastd.control import server

MOST_HALF = 64  # half connections of one address
MOST = 4000  # connections in all; fewer if the process may open only few files
_KEPT = 100  # files that the process needs for itself, for example for its store and its log

Peer: TypeAlias = str | int
"""The address of a client. For a client of a unix socket it is the user's id."""


@dataclass(slots=True, eq=False)
class Share:
    """The connections of one address, the oldest first. `is_many`: the address stands for many clients."""

    name: Peer
    is_many: bool
    half: dict[OpenConnection, None] = field(default_factory=dict["OpenConnection", None])
    idle: dict[OpenConnection, None] = field(default_factory=dict["OpenConnection", None])
    number: int = 0


@dataclass(slots=True, eq=False)
class OpenConnection:
    """One connection. `end()` ends it at once. `since`: a number that grows with each change to half or idle, for the
    order of age. `is_over`: it no longer counts, because it has ended or must end."""

    share: Share
    end: Callable[[], object]
    since: int = 0
    is_over: bool = False


@dataclass(slots=True)
class OpenConnections:
    most: int = MOST
    proxy: TrustedProxy | None = None
    most_half: int = MOST_HALF
    number: int = 0
    _shares: dict[Peer, Share] = field(default_factory=dict[Peer, Share])
    _turn: int = 0

    @classmethod
    def bounded(cls, proxy: TrustedProxy | None = None) -> OpenConnections:
        """Make the limits for this process: it gets as many places as it may open files, less the files that it needs
        for itself, and at most MOST."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return cls(MOST if files < 0 else min(MOST, max(files - _KEPT, files // 4)), proxy)

    def begin(self, peer: Peer, end: Callable[[], object]) -> OpenConnection | None:
        """Count a new connection, which is half. If all places are taken, end another one for it. Returns None if all
        connections are answering."""
        while self.number >= self.most:
            if not self.give_way():
                return None
        name = peer if isinstance(peer, int) else customer_of(peer)
        is_many = isinstance(peer, int) or (self.proxy is not None and self.proxy.is_peer(peer))
        share = self._shares.setdefault(name, Share(name, is_many))
        connection = OpenConnection(share, end)
        share.number += 1
        self.number += 1
        self.half(connection)
        return connection

    def half(self, connection: OpenConnection) -> None:
        """Record that a request has begun to arrive on this connection."""
        share = connection.share
        self._become(connection, share.half)
        if not share.is_many and len(share.half) > self.most_half:
            self._cut(next(iter(share.half)))

    def idle(self, connection: OpenConnection) -> None:
        """Record that the request of this connection was answered, or that its client does not read the answer."""
        self._become(connection, connection.share.idle)

    def answering(self, connection: OpenConnection) -> None:
        """Record that a request of this connection is complete, or that its client reads again."""
        self._become(connection, None)

    def over(self, connection: OpenConnection) -> None:
        """Record that this connection has ended, by itself or because it was ended."""
        if connection.is_over:
            return
        self._become(connection, None)
        connection.is_over = True
        self.number -= 1
        connection.share.number -= 1
        if not connection.share.number:
            del self._shares[connection.share.name]

    def give_way(self) -> bool:
        """End one connection to make room, in the order that the module's docstring describes. False if none can be
        ended."""
        strangers = [share for share in self._shares.values() if not share.is_many]
        others = [share for share in self._shares.values() if share.is_many]
        for shares in (strangers, others):
            for held in ([share.half for share in shares], [share.idle for share in shares]):
                if (first := _first_of_most(held)) is not None:
                    self._cut(first)
                    return True
        return False

    def _become(self, connection: OpenConnection, held: dict[OpenConnection, None] | None) -> None:
        connection.share.half.pop(connection, None)
        connection.share.idle.pop(connection, None)
        if held is not None and not connection.is_over:
            self._turn += 1
            connection.since = self._turn
            held[connection] = None

    def _cut(self, connection: OpenConnection) -> None:
        self.over(connection)
        connection.end()


def _first_of_most(held: Iterable[dict[OpenConnection, None]]) -> OpenConnection | None:
    """The first connection of the address with the most connections. If several addresses have the most, the oldest
    connection among their first ones."""
    most = max(map(len, held := list(held)), default=0)
    firsts = [next(iter(each)) for each in held if each and len(each) == most]
    return min(firsts, key=lambda first: first.since, default=None)


# Accepts the connections of a listening socket. A connection counts before anything is read from it.
#
# The servers of asyncio and uvloop cannot do this: they report a connection only after its TLS handshake. If no
# descriptor is left, uvloop drops all waiting clients, and asyncio logs an error for each of them.

AT_ONCE = 16  # connections accepted in a turn of the loop; those that they have ended are gone before the next turn
PAUSE = 0.1  # seconds without accepting clients after an error of the accept

_log = structlog.get_logger("holdfast.connections")


class AcceptLoop:
    """Accepts clients until it is closed. `connect` begins to serve an accepted socket. If `connect` fails, for example
    in the handshake, the connection is over. Otherwise the server sets `connection.end`, and calls `over` at its
    end."""

    def __init__(
        self,
        listener: socket.socket,
        connections: OpenConnections,
        connect: Callable[[socket.socket, OpenConnection], Awaitable[object]],
    ) -> None:
        self._listener, self._connections, self._connect = listener, connections, connect
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._resume: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._watch()

    def close(self) -> None:
        """Accept no more clients, and end connections that are not served yet."""
        self._loop.remove_reader(self._listener)
        if self._resume is not None:
            self._resume.cancel()
        for task in self._tasks:
            task.cancel()

    async def wait_closed(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _watch(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                stream, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):  # no client waits any more
                return
            except ConnectionAbortedError:  # this client is gone already
                continue
            except OSError as error:
                self._look_away(error)
                return
            self._take(stream, server.peer(stream) if stream.family == socket.AF_UNIX else str(address[0]))

    def _look_away(self, error: OSError) -> None:
        """Make room if no descriptor or memory is left. Then accept no client for PAUSE, so that the loop does not
        spin."""
        _log.warning("no connection can be accepted: it is tried again in a moment", error=error.strerror)
        self._connections.give_way()
        self._loop.remove_reader(self._listener)
        self._resume = self._loop.call_later(PAUSE, self._watch)

    def _take(self, stream: socket.socket, peer: str | int) -> None:
        connection = self._connections.begin(peer, lambda: _hang_up(stream))
        if connection is None:
            stream.close()
            return
        stream.setblocking(False)
        task = self._loop.create_task(self._served(stream, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, stream: socket.socket, connection: OpenConnection) -> None:
        try:
            await self._connect(stream, connection)
        except asyncio.CancelledError:
            self._connections.over(connection)
            raise
        except OSError:  # the client is gone, or the handshake failed or took too long
            self._connections.over(connection)
        except Exception:
            _log.exception("a connection cannot be served: it is dropped")
            self._connections.over(connection)


def _hang_up(stream: socket.socket) -> None:
    """End a connection that no protocol serves yet. The transport owns the descriptor, and notices the end."""
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
