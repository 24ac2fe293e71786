"""The server of a play: one of its own with an append-only file, or one that somebody lends."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import redis

from tests.servers import Server, serve

# `always`: with everysec a write that was answered may wait for a slow disk, and go with the process that is killed.
OPTIONS = ("--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes")
PORT = 6379


class OccupiedError(Exception):
    """The lent server holds keys of the play's queue, and the play has not made them."""


class OwnServer:
    """Its server may be killed and started again."""

    own = True

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self._folder = folder
        self._stack = stack
        self._server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server.url

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def start(self) -> None:
        self._server = self._stack.enter_context(serve(self._folder, *OPTIONS))

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class LentServer:
    """A server that others may use: only the play's own queue in it is touched, and is gone when the play is over."""

    url: str
    queue: str
    own = False

    def start(self) -> None:
        """OccupiedError where the queue's keys are there already."""
        found = self._keys()
        if found:
            raise OccupiedError(
                f"the Redis at {address(self.url)} already holds {len(found)} keys of queue {self.queue!r} "
                f"({found[0]}, …), which this play did not make; lend an empty one, or delete them"
            )

    def clear(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            for key in self._keys():
                client.delete(key)

    def _keys(self) -> list[str]:
        patterns = (self.queue, f"{self.queue}:*", f"{{{self.queue}}}:*")
        with redis.Redis.from_url(self.url, decode_responses=True) as client:
            return sorted(key for pattern in patterns for key in client.scan_iter(match=pattern, count=1000))


def address(url: str) -> Path | tuple[str, int]:
    """Where a server listens. ValueError for what is no plain redis:// or unix:// URL."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return Path(parts.path)
    if parts.scheme == "redis" and parts.hostname:
        return parts.hostname, parts.port or PORT
    raise ValueError(f"{parts.scheme or 'no'} URL")


def through(url: str, socket: Path) -> str:
    """The same server, user and database, by another way."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    database = (
        f"?db={parts.path[1:]}" if parts.scheme == "redis" and parts.path[1:] else parts.query and f"?{parts.query}"
    )
    return f"unix://{user}{at}{socket}{database}"
