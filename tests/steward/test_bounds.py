"""The steward tells the store the bounds that its host's settings say: once, and again where nothing is said."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

import pytest

from holdfast.core.lanes import LaneBound, LaneLimit, Lanes, LaneState, LimitOrder
from holdfast_config import Settings
from holdfastd.steward.duties.lane_duties import LaneLimits

pytestmark = pytest.mark.anyio

SETTINGS: dict[str, Any] = {"lanes": "a;limit=5;rate=100/m,b;keys=2", "handler_rates": "mail=1/s"}
RULES = (
    LaneLimit(LaneBound.LIMIT, "a", "5"),
    LaneLimit(LaneBound.RATE, "a", "100/60000/1"),
    LaneLimit(LaneBound.KEYS, "b", "2"),
    LaneLimit(LaneBound.NAME, "mail", "1/1000/1"),
)


@dataclass
class Store:
    """Keeps the limits that it gets, and answers with `order`."""

    orders: list[tuple[str, tuple[LaneLimit, ...]]] = field(default_factory=list[tuple[str, tuple[LaneLimit, ...]]])
    order: LimitOrder = field(default_factory=LimitOrder)
    most: int = 0

    async def declare(self, host: str, rules: tuple[LaneLimit, ...]) -> int:
        self.orders.append((host, rules))
        return len(rules)

    async def limit_messages(self, most: int) -> None:
        self.most = most

    async def lanes(self, _: object) -> Lanes:
        return Lanes(0, (LaneState("a", 0, 0, 0, None, limit=self.order),), {})


async def turns(store: Any, count: int, **settings: Any) -> None:
    bounding = LaneLimits(store, Settings(**settings))
    for _ in range(count):
        await bounding.run_once()


async def test_the_limits_of_the_settings_are_sent_once() -> None:
    store = Store(order=LimitOrder(told="5", host="here"))
    await turns(store, 3, **SETTINGS)
    assert store.orders == [(socket.gethostname(), RULES)]


async def test_settings_that_say_nothing_take_back_what_was_said_and_are_silent_then() -> None:
    store = Store()
    await turns(store, 3)
    assert store.orders == [(socket.gethostname(), ())]


async def test_a_store_that_was_emptied_gets_them_again() -> None:
    store = Store()
    await turns(store, 2, **SETTINGS)
    assert len(store.orders) == 2


async def test_what_another_host_said_later_stays() -> None:
    store = Store(order=LimitOrder(told="7", host="elsewhere"))
    await turns(store, 3, **SETTINGS)
    assert len(store.orders) == 1


async def test_how_many_messages_may_wait_is_told_too() -> None:
    store = Store()
    await turns(store, 1, max_pending_messages=7)
    assert store.most == 7
