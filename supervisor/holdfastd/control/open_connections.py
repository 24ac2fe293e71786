"""Bounds the connections of strangers, so that none of them takes all places or all descriptors of a process.

A connection counts from its accept to its end, and is one of three:

- half: its handshake or its request has not come whole. One address may have so many half ones: the next one ends the
  one that it began first.
- idle: it waits for its next request, or for its client to read the answer.
- answering: a request of it has come whole. Such a one is never ended here.

When all places are taken, a newcomer ends another connection: a half one before an idle one; of the address that has
the most of them; of these the one that became so first. So a client that sends its requests at once is served, also
behind the address of strangers.

A declared proxy and the users of a unix socket stand for many clients: any number of their half connections is right,
and when all places are taken, they give way last.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from holdfast_config.addresses import TrustedProxy, customer_of

MOST_HALF = 64  # of one address
MOST = 4000  # in all; fewer where the process may open few files
_KEPT = 100  # files that the process needs for itself: its store, its log

Peer: TypeAlias = str | int
"""The address of a client; for one of a unix socket the id of its user."""


@dataclass(slots=True, eq=False)
class Share:
    """The connections of one address, the oldest first. `is_many`: it stands for many clients."""

    name: Peer
    is_many: bool
    half: dict[OpenConnection, None] = field(default_factory=dict["OpenConnection", None])
    idle: dict[OpenConnection, None] = field(default_factory=dict["OpenConnection", None])
    number: int = 0


@dataclass(slots=True, eq=False)
class OpenConnection:
    """`end`: ends it at once. `since`: it became half or idle as the so manieth. `is_over`: it counts no more, since it
    has ended or has been told to."""

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
        """With as many places as this process may open files, less those that it needs for itself."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return cls(MOST if files < 0 else min(MOST, max(files - _KEPT, files // 4)), proxy)

    def begin(self, peer: Peer, end: Callable[[], object]) -> OpenConnection | None:
        """A client has connected; None if each place is taken by a request that is being answered."""
        while self.number >= self.most:
            if not self.give_way():
                return None
        name = peer if isinstance(peer, int) else customer_of(peer)
        share = self._shares.setdefault(name, Share(name, self._is_many(peer)))
        connection = OpenConnection(share, end)
        share.number += 1
        self.number += 1
        self.half(connection)
        return connection

    def half(self, connection: OpenConnection) -> None:
        """A request of it begins to come."""
        share = connection.share
        self._become(connection, share.half)
        if not share.is_many and len(share.half) > self.most_half:
            self._cut(next(iter(share.half)))

    def idle(self, connection: OpenConnection) -> None:
        """Its request has been answered, or its client reads nothing."""
        self._become(connection, connection.share.idle)

    def answering(self, connection: OpenConnection) -> None:
        """Its request has come whole, or its client reads again."""
        self._become(connection, None)

    def over(self, connection: OpenConnection) -> None:
        """It has ended, by itself or not."""
        if connection.is_over:
            return
        self._become(connection, None)
        connection.is_over = True
        self.number -= 1
        connection.share.number -= 1
        if not connection.share.number:
            del self._shares[connection.share.name]

    def give_way(self) -> bool:
        """End the connection that is to give way; False if there is none."""
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

    def _is_many(self, peer: Peer) -> bool:
        return isinstance(peer, int) or (self.proxy is not None and self.proxy.is_peer(peer))


def _first_of_most(held: Iterable[dict[OpenConnection, None]]) -> OpenConnection | None:
    """The first of those who hold the most; of several such, the one that is so for the longest time."""
    most = max(map(len, held := list(held)), default=0)
    firsts = [next(iter(each)) for each in held if each and len(each) == most]
    return min(firsts, key=lambda first: first.since, default=None)
