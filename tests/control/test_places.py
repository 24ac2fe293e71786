"""Who may stay connected to the control socket."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from holdfastd.control.server import KEPT, MOST_CLIENTS, giving_way, has_room

ROOT, OWNER = 0, 7
OWNERS = {ROOT, OWNER}


@dataclass(frozen=True)
class Place:
    user: int
    number: int
    is_idle: bool = True


class Socket:
    """The clients that stay, of those that have come."""

    def __init__(self) -> None:
        self.clients: list[Place] = []
        self._came = 0

    def come(self, user: int, count: int = 1, *, is_idle: bool = True) -> int:
        """How many of these are let in."""
        before = self._came
        return sum(self._come(Place(user, before + number, is_idle)) for number in range(count))

    def _come(self, place: Place) -> bool:
        self._came += 1
        if not has_room(self.clients, place.user, OWNERS):
            leaving = giving_way(self.clients, place.user, OWNERS)
            if leaving is None:
                return False
            self.clients.remove(leaving)
        self.clients.append(place)
        return True

    def numbers(self) -> Counter[int]:
        return Counter(each.user for each in self.clients)


@pytest.mark.parametrize("owner", [ROOT, OWNER])
def test_places_are_kept_for_root_and_the_owner(owner: int) -> None:
    socket = Socket()
    for user in range(1000, 1100):
        socket.come(user, 100, is_idle=False)
    assert len(socket.clients) == MOST_CLIENTS - KEPT
    assert socket.come(owner, KEPT, is_idle=False) == KEPT
    assert socket.come(owner) == 0


def test_a_user_takes_no_place_of_another_that_has_fewer() -> None:
    socket = Socket()
    assert socket.come(1000, 3) == 3
    assert socket.come(1001, 500) == 500
    assert socket.numbers() == {1000: 3, 1001: MOST_CLIENTS - KEPT - 3}


def test_whoever_comes_to_a_full_socket_gets_a_place_of_the_user_with_the_most() -> None:
    socket = Socket()
    socket.come(1000, 500)
    assert socket.come(1001, 10) == 10
    assert socket.come(OWNER, 20) == 20
    assert socket.numbers()[1001] == 10
    assert socket.numbers()[OWNER] == 20
    assert len(socket.clients) == MOST_CLIENTS


def test_the_oldest_idle_one_gives_way_and_none_that_waits_for_an_end() -> None:
    socket = Socket()
    socket.come(OWNER, 2, is_idle=False)
    socket.come(OWNER, MOST_CLIENTS - 2)
    socket.come(OWNER)
    assert [each.number for each in socket.clients[:3]] == [0, 1, 3]


def test_the_rules_hold_for_any_order_of_clients() -> None:
    chance = random.Random(1)
    for _ in range(50):
        socket = Socket()
        for _ in range(400):
            user = chance.choice([ROOT, OWNER, *range(1000, 1006)])
            before = socket.numbers()
            let_in = socket.come(user, is_idle=chance.random() < 0.8)
            strangers = sum(number for each, number in socket.numbers().items() if each not in OWNERS)
            assert len(socket.clients) <= MOST_CLIENTS
            assert strangers <= MOST_CLIENTS - KEPT
            lost = before - socket.numbers()
            assert all(each == user or before[each] > before[user] + 1 for each in lost)
            assert let_in or socket.numbers() == before
