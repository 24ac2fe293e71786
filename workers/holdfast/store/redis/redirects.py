"""Follows redirections where servers change places, and looks for the server anew if one cannot serve now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from redis.exceptions import ConnectionError, MovedError, ResponseError  # noqa: A004 - the library's name

from holdfast.store.redis.clients import Clients
from holdfast.store.redis.error_mapping import is_passing

MOST = 5  # redirections of one command: the node that is named is the right one, unless the slot moves again meanwhile

Execute = Callable[..., Awaitable[Any]]


class Redirecting:
    """Wraps the clients of one namespace. A redirected command was not executed: sending it on is no retry."""

    def __init__(self, clients: Clients) -> None:
        assert clients.locator is not None
        self._locator = clients.locator
        self._clients = (clients.commands, clients.blocking, clients.peeking)
        self._locator.changed = self._leave

    def over(self, execute: Execute) -> Execute:
        """`execute`, following MOVED. ASK is not followed: only some of a script's keys may have moved yet."""

        async def following(*command: Any) -> Any:
            for _ in range(MOST):
                try:
                    return await execute(*command)
                except MovedError as moved:
                    target: Any = moved  # the library types none of it
                    self._locator.prefer((target.host, target.port))
                    await self._let_go()
                except ResponseError as error:
                    if is_passing(error):
                        await self._let_go()
                    raise
            raise ConnectionError("sent from node to node, and none of them serves the queue")

        return following

    async def _let_go(self) -> None:
        """Close idle connections, so that the next calls find their server anew."""
        for client in self._clients:
            await client.give_back_idle()
            await client.connection_pool.disconnect(inuse_connections=False)
            await client.connection_pool.update_active_connections_for_reconnect()

    async def _leave(self) -> None:
        """Close connections of blocked calls as well: another server serves now, and the old one may be frozen."""
        commands, *blocking = self._clients
        await commands.give_back_idle()
        await commands.connection_pool.disconnect(inuse_connections=False)
        for client in blocking:
            await client.connection_pool.disconnect()
