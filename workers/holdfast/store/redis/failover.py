"""Connections to the present primary. Before a connection is made, it asks a locator for the address. The library's
pool for Sentinel works in this way, and Holdfast's locator for Cluster has the same interface.

The library's RedisCluster is not used. All keys of a namespace are in one slot, so one node at a time serves them all.
Also, RedisCluster follows ASK redirects, which is wrong for a script: some of the script's keys may not have moved yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar

import anyio
from redis.asyncio.client import Redis
from redis.asyncio.connection import BlockingConnectionPool, Connection, ConnectionPool, SSLConnection
from redis.asyncio.sentinel import SentinelConnectionPool, SentinelManagedConnection, SentinelManagedSSLConnection
from redis.crc import key_slot
from redis.exceptions import AuthenticationError, ConnectionError, RedisError, ResponseError  # noqa: A004 - the library's name

Address = tuple[str, int]
ASKING_TIMEOUT = 2.0  # seconds that one server has to answer where ours is, before the next is asked


class FailoverPool(SentinelConnectionPool, BlockingConnectionPool):
    """A bounded pool: a caller waits while all connections are in use."""


def following_pool(locator: ServerLocator, name: str, options: Mapping[str, Any], *, tls: bool) -> Any:
    """A pool whose connections go to the server that the locator finds. `name`: the master or the queue to locate;
    `options`: the options of the pool and of its connections."""
    kind = SentinelManagedSSLConnection if tls else SentinelManagedConnection
    pool: Any = FailoverPool  # the library types no option
    return pool(name, locator, connection_class=kind, **options)


class ServerLocator(ABC):
    """Asks known servers for the address of the present primary, one after the other. It first asks the server that
    answered last."""

    form: ClassVar[str]

    def __init__(self, hosts: Iterable[Address], options: Mapping[str, Any], *, tls: bool) -> None:
        self._hosts = list(hosts)
        self._options = {"connection_class": SSLConnection if tls else Connection, **options}
        self.found: Address | None = None  # the last one
        self.changed: Callable[[], Awaitable[None]] | None = None  # called when the server has changed

    @property
    def address(self) -> str:
        """The last address that was found."""
        return f"{self.found[0]}:{self.found[1]}" if self.found else ""

    def prefer(self, host: Address) -> None:
        """Make this server the first that is asked for the address of the primary."""
        self._hosts = [host, *(each for each in self._hosts if each != host)]

    async def discover_master(self, service_name: str) -> Address:
        """The address to connect to. The library calls this method, and requires this name."""
        master = await self._ask_around(service_name)
        earlier, self.found = self.found, master
        if earlier not in {None, master} and self.changed is not None:
            await self.changed()
        return master

    async def _ask_around(self, name: str) -> Address:
        errors: dict[Address, Exception] = {}
        for host in tuple(self._hosts):
            try:
                with anyio.fail_after(ASKING_TIMEOUT):
                    address = await self._ask(host, name)
            except (RedisError, OSError) as error:
                errors[host] = error
            else:
                self.prefer(host)
                return address
        raise _of_all(errors)

    async def _ask(self, host: Address, name: str) -> Address:
        pool: Any = ConnectionPool  # the library types no option
        client: Any = Redis.from_pool(pool(host=host[0], port=host[1], **self._options))
        client.response_callbacks.clear()
        try:
            return await self._answer(client, host, name)
        finally:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    @abstractmethod
    async def _answer(self, client: Any, host: Address, name: str) -> Address:
        """The answer of the server `host`; raises ResponseError if that server does not know."""


def _of_all(errors: Mapping[Address, Exception]) -> RedisError:
    """One error that stands for the errors of all servers. If all servers refused the request, it is an error that a
    later try does not mend."""
    text = "; ".join(f"{host}:{port}: {str(error) or type(error).__name__}" for (host, port), error in errors.items())
    for kind in (AuthenticationError, ResponseError):
        if all(isinstance(error, kind) for error in errors.values()):
            return kind(text)
    return ConnectionError(text)


class SentinelLocator(ServerLocator):
    """Asks sentinels for a master by its name."""

    form = "sentinel"

    async def _answer(self, client: Any, host: Address, name: str) -> Address:
        answer = await client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        if answer is None:
            raise ResponseError(f"knows no master {name!r}")
        return answer[0].decode(), int(answer[1])


class ClusterLocator(ServerLocator):
    """Asks nodes for the owner of a queue's slot."""

    form = "cluster"

    async def _answer(self, client: Any, host: Address, name: str) -> Address:
        slot = key_slot(name.encode())
        owner: Address | None = None
        for first, last, *nodes in await client.execute_command("CLUSTER", "SLOTS"):
            masters_and_replicas = [(_host(node[0]) or host[0], int(node[1])) for node in nodes]
            self._hosts += [each for each in masters_and_replicas if each not in self._hosts]
            if first <= slot <= last:
                owner = masters_and_replicas[0]
        if owner is None:
            raise ConnectionError(f"no node serves slot {slot}")
        return owner


def _host(raw: bytes | None) -> str | None:
    """The host of a node. None if the node does not know its own name; then the caller uses the host that it has
    asked."""
    name = (raw or b"").decode()
    return name if name not in {"", "?"} else None
