"""Decides who may stay connected to the control socket: each user has a share, and root and the owner have places kept.

While there is room, everybody may connect as often as they like. Then the user with the most connections gives one up
for a newcomer, an idle one, the oldest first. So no number of connections of one user keeps another out, and those who
may only ask cannot keep out those who may order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

MOST_CLIENTS = 64
KEPT = 16  # for root and the service's user


class Connected(Protocol):
    """`user`: the user id of the other end. `is_idle`: it does not wait for the end of a stop or a reload."""

    @property
    def user(self) -> int: ...
    @property
    def is_idle(self) -> bool: ...


C = TypeVar("C", bound=Connected)


def has_room(clients: Sequence[Connected], user: int, owners: Collection[int]) -> bool:
    """True if this user can connect and nobody gives way. `owners`: root and the service's user."""
    if len(clients) >= MOST_CLIENTS:
        return False
    return user in owners or len(_strangers(clients, owners)) < MOST_CLIENTS - KEPT


def giving_way(clients: Sequence[C], user: int, owners: Collection[int]) -> C | None:
    """The client, of these in the order in which they came, that gives way to a newcomer of this user; None if the
    newcomer is turned away."""
    rivals = list(clients) if user in owners else _strangers(clients, owners)
    numbers = Counter(each.user for each in rivals)
    idle = [each for each in rivals if each.is_idle and (each.user == user or numbers[each.user] > numbers[user] + 1)]
    # Among those with the most connections the newcomer's own comes first.
    return max(idle, key=lambda each: (numbers[each.user], each.user == user), default=None)


def _strangers(clients: Sequence[C], owners: Collection[int]) -> list[C]:
    return [each for each in clients if each.user not in owners]
