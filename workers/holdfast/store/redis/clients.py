"""The one place where Redis clients are made.

Holdfast sets every timeout itself, because the library's defaults cut blocking calls short and send commands twice. The
client does not retry. The only retry loop is around Holdfast's own calls, which are idempotent.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.lowlevel
from redis.asyncio.connection import BlockingConnectionPool, ConnectionPool, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from holdfast.core.store_info import MOST_PEEKS
from holdfast.os.kill_points import Point, armed, reached
from holdfast.store.redis.fast_client import FastClient
from holdfast.store.redis.scripts import product
from holdfast_config import redis_urls

if TYPE_CHECKING:
    from holdfast.store.redis.failover import ServerLocator
    from holdfast_config import RedisSettings

NAME = "holdfast"  # the name of our clients in CLIENT LIST
# Seconds of silence, seconds between probes, number of probes.
PROBED = {"TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 3}
MOST_BLOCKED = 100  # a process blocks in a few calls; more than this is a bug


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of one Redis server. `commands`: for calls that answer at once; a bounded pool that waits for a free
    connection. `blocking`: for calls that block; the caller bounds each call, and a cancelled call closes its
    connection. `peeking`: for calls that block on a lane; at most MOST_PEEKS of them at once. `locator`: finds the
    present server if it may change (Sentinel, Cluster)."""

    commands: Any
    blocking: Any
    peeking: Any
    locator: ServerLocator | None = None


def clients_of(settings: RedisSettings) -> Clients:
    """Make the clients; nothing is connected before the first call. Raises UntrustedError if the socket may belong to
    another user."""
    if settings.folder is not None:
        settings.folder.check()
    bounds = {"max_connections": settings.max_connections, "timeout": settings.answer_timeout}
    for_commands = {**_options(settings), **bounds, "socket_timeout": settings.answer_timeout}
    for_blocking = {**_options(settings), "max_connections": MOST_BLOCKED, "socket_timeout": None}
    for_peeking = {**for_blocking, "max_connections": MOST_PEEKS}
    if settings.url.partition("://")[0] in redis_urls.SCHEMES:
        return _following(redis_urls.parse_topology(settings.url), settings, (for_commands, for_blocking, for_peeking))
    bounded: Any = BlockingConnectionPool  # the library types no option
    unbounded: Any = ConnectionPool
    return Clients(
        _direct(bounded.from_url(settings.url, **for_commands), settings.answer_timeout),
        _direct(unbounded.from_url(settings.url, **for_blocking), None),
        _direct(unbounded.from_url(settings.url, **for_peeking), None),
    )


def _following(
    servers: redis_urls.RedisTopology, settings: RedisSettings, options_of: tuple[dict[str, Any], ...]
) -> Clients:
    from holdfast.store.redis.failover import ClusterLocator, SentinelLocator, following_pool

    login = dict[str, Any](parse_url(servers.server))
    tls = login.pop("connection_class", None) is SSLConnection
    del login["host"]
    asking = {**_options(settings), **login, "socket_timeout": None}
    if servers.form == "sentinel":
        for unknown in ("username", "password", "db"):  # a sentinel has its own users, and no databases
            asking.pop(unknown, None)
        asking.update(servers.sentinel_login)
    kind = SentinelLocator if servers.form == "sentinel" else ClusterLocator
    locator = kind(servers.hosts, asking, tls=tls)
    name = servers.master or settings.queue
    pools = [following_pool(locator, name, {**options, **login}, tls=tls) for options in options_of]
    commands, *others = pools
    blocking, peeking = (_direct(pool, None) for pool in others)
    return Clients(_direct(commands, settings.answer_timeout), blocking, peeking, locator)


def _options(settings: RedisSettings) -> dict[str, Any]:
    return {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": settings.connect_timeout,
        "health_check_interval": 15,
        "client_name": NAME,
        "driver_info": None,  # looking up the library's version costs each child 2 MB and a round trip
        **_probed(settings.url),
    }


def _probed(url: str) -> dict[str, Any]:
    """The socket options by which the kernel probes silent peers. If a peer is lost, a blocked call ends within
    seconds, and no command to the server is needed for this."""
    if url.startswith("unix:"):
        return {}
    options = {getattr(socket, name): value for name, value in PROBED.items() if hasattr(socket, name)}
    return {"socket_keepalive": True, "socket_keepalive_options": options}


def _direct(pool: Any, answer_timeout: float | None) -> FastClient:
    client = FastClient(pool, answer_timeout)
    if armed:
        client.sent = watch
    return client


# Kill points between a command and its answer; used only if the environment asks for one.

TURNS = 3  # of the event loop, after which it has written the command
NO_SETTLEMENTS = b"\x90"  # an empty list as MessagePack


async def watch(command: tuple[Any, ...]) -> None:
    """For tests: announce the kill point of this command (`reached`) when the command has been sent."""
    point = _point(*command) if command[0] == "EVALSHA" else None
    if point is not None:
        for _ in range(TURNS):
            await anyio.lowlevel.checkpoint()
        reached(point)


def _point(_: str, sha: str, keys: int, *arguments: Any) -> Point | None:
    scripts, arguments = product(), arguments[keys:]
    if sha == scripts["pull"].sha:
        return Point.PULL_SENT if arguments[3] == NO_SETTLEMENTS else Point.SETTLE_SENT
    sent = {"schedule_fire": Point.FIRE_SENT, "recover": Point.RECOVER_SENT}
    sent |= {"step": Point.STEP_SENT, "sleep": Point.STEP_SENT}
    return next((point for name, point in sent.items() if sha == scripts[name].sha), None)
