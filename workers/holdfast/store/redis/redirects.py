"""Where servers change places: a redirection is followed, and whoever cannot serve now is asked after anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from redis.exceptions import ConnectionError, MovedError, ResponseError  # noqa: A004 - the library's name

from holdfast.store.redis.clients import Clients
from holdfast.store.redis.error_mapping import is_passing

MOST = 5  # redirections of one command: a node that was told of is the right one, unless it moves again meanwhile

Execute = Callable[..., Awaitable[Any]]


class Redirecting:
    """Over the clients of one namespace. A command that was redirected was not executed: to send it on is no retry."""

    def __init__(self, clients: Clients) -> None:
        assert clients.guide is not None
        self._guide = clients.guide
        every = (clients.commands, clients.blocking, clients.peeking)
        self._pools = tuple(client.connection_pool for client in every)
        self._guide.changed = self._leave

    def over(self, execute: Execute) -> Execute:
        """`execute`, following MOVED. ASK is not followed: of what a script needs, only a part is there yet."""

        async def following(*command: Any) -> Any:
            for _ in range(MOST):
                try:
                    return await execute(*command)
                except MovedError as moved:
                    told: Any = moved  # the library types none of it
                    self._guide.prefer((told.host, told.port))
                    await self._let_go()
                except ResponseError as error:
                    if is_passing(error):
                        await self._let_go()
                    raise
            raise ConnectionError("sent from node to node, and none of them serves the queue")

        return following

    async def _let_go(self) -> None:
        """The next calls find their server anew."""
        for pool in self._pools:
            await pool.disconnect(inuse_connections=False)
            await pool.update_active_connections_for_reconnect()

    async def _leave(self) -> None:
        """Another server serves now: who waits at the old one, which may be frozen, waits in vain."""
        commands, *blocking = self._pools
        await commands.disconnect(inuse_connections=False)
        for pool in blocking:
            await pool.disconnect()
