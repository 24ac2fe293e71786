"""Accepts the connections of a listening socket, each counted before anything is read of it.

The servers of asyncio and uvloop tell of a connection only when its TLS handshake has ended. When no descriptor is
left, uvloop turns away all who wait, honest clients among them, and asyncio logs an error for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

import structlog

from holdfastd.control import server
from holdfastd.control.open_connections import OpenConnection, OpenConnections

AT_ONCE = 16  # accepted in a turn of the loop: those that gave way to them have ended before the next turn
PAUSE = 0.1  # seconds without looking for clients after none could be accepted

_log = structlog.get_logger("holdfast.connections")


class AcceptLoop:
    """`connect` serves an accepted socket, or begins to. A connection is over when that fails, as a handshake may.
    Else whoever serves it sets `connection.end`, and says when it is over."""

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
        """Accept no more. Connections that are not served yet end."""
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
            except (BlockingIOError, InterruptedError):  # nobody waits any more
                return
            except ConnectionAbortedError:  # that one is gone again
                continue
            except OSError as error:
                self._look_away(error)
                return
            self._take(stream, server.peer(stream) if stream.family == socket.AF_UNIX else str(address[0]))

    def _look_away(self, error: OSError) -> None:
        """No descriptor is left, or no memory: make room, and do not spin until there is some."""
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
        except OSError:  # the client is gone, or its handshake failed or took too long
            self._connections.over(connection)
        except Exception:
            _log.exception("a connection cannot be served: it is dropped")
            self._connections.over(connection)


def _hang_up(stream: socket.socket) -> None:
    """End a connection of which no protocol knows yet. Its transport, which has the descriptor, sees the end."""
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
