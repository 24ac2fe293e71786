"""A worker's half of the pull protocol, as histories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.delivery import Delivery, Holding, Pulled, Settle, Settlement, Standing, Verdict
from holdfast.core.pull_protocol import Exchange


def delivery(task_id: str, claim: str, turn: int = 1, operation: bytes = b"{}") -> Delivery:
    return Delivery(task_id, claim, "q", operation, turn, 1, 0, 0, None, None, solo=False)


def settlement(task_id: str, claim: str, kind: Settle = Settle.COMPLETED) -> Settlement:
    return Settlement(task_id, claim, kind)


def holding(*tasks: str, capacity: int = 4) -> Exchange:
    """An exchange whose first request was answered with these tasks."""
    exchange = Exchange(capacity)
    request = exchange.next_request()
    deliveries = tuple(delivery(task_id, f"1:w:{request.number}") for task_id in tasks)
    exchange.answer(request, Pulled(Standing.OK, (), deliveries))
    return exchange


def test_requests_are_numbered_from_one_without_gaps() -> None:
    exchange = holding("a")
    assert exchange.next_request().number == 2


def test_unanswered_request_is_sent_again_under_its_number() -> None:
    exchange = Exchange(4)
    first = exchange.next_request()
    assert exchange.next_request() == first


def test_repetition_adds_settlements_and_drops_none() -> None:
    exchange = holding("a", "b")
    exchange.finish("a", settlement("a", "1:w:1"))
    first = exchange.next_request()
    exchange.finish("b", settlement("b", "1:w:1"))
    again = exchange.next_request()
    assert again.number == first.number
    assert [s.task_id for s in again.settlements] == ["a", "b"]


def test_slots_asked_for_stay_reserved_until_the_answer() -> None:
    exchange = Exchange(4)
    exchange.next_request()
    assert exchange.free == 0


def test_repetition_asks_for_the_same_slots_though_claiming_has_ended() -> None:
    exchange = Exchange(4)
    first = exchange.next_request()
    assert exchange.next_request(0).slots == first.slots == 4


def test_request_without_claiming_asks_for_no_slots() -> None:
    assert Exchange(4).next_request(0).slots == 0


def test_settlement_that_came_after_the_request_left_goes_with_the_next() -> None:
    exchange = holding("a", "b")
    exchange.finish("a", settlement("a", "1:w:1"))
    request = exchange.next_request()
    exchange.finish("b", settlement("b", "1:w:1"))
    exchange.answer(request, Pulled(Standing.OK, (Verdict.OK,)))
    assert [s.task_id for s in exchange.next_request().settlements] == ["b"]


def test_adopted_task_that_already_runs_is_not_started_again_and_settles_under_its_new_claim() -> None:
    exchange = holding("a")
    request = exchange.next_request()
    fresh = exchange.answer(request, Pulled(Standing.OK, (), (delivery("a", "2:w:2"), delivery("b", "1:w:2"))))
    assert [d.task_id for d in fresh] == ["b"]
    exchange.finish("a", settlement("a", "1:w:1"))
    assert exchange.unsettled == [settlement("a", "2:w:2")]


@pytest.mark.parametrize("other", [{"turn": 2}, {"operation": b'{"of": "another life"}'}])
def test_another_turn_of_a_task_that_runs_is_started_and_not_adopted(other: dict[str, Any]) -> None:
    exchange = holding("a")
    request = exchange.next_request()
    claimed = delivery("a", "2:w:2", **other)
    assert exchange.answer(request, Pulled(Standing.OK, (), (claimed,))) == [claimed]
    assert exchange.holdings({}) == [Holding("a", "2:w:2")]


def test_dead_worker_starts_nothing() -> None:
    exchange = Exchange(4)
    request = exchange.next_request()
    assert exchange.answer(request, Pulled(Standing.DEAD, (), (delivery("a", "1:w:1"),))) == []
    assert exchange.held == {}


def test_nothing_is_reported_of_a_task_that_is_held_no_more() -> None:
    exchange = holding("a")
    exchange.finish("a", None)
    exchange.finish("a", settlement("a", "1:w:1"))
    assert exchange.settled


def test_what_is_given_back_goes_last_and_backwards_so_that_the_first_claimed_ends_up_first() -> None:
    exchange = holding("a", "b", "c")
    for task_id, kind in (("a", Settle.RELEASE), ("b", Settle.RETURNED), ("c", Settle.COMPLETED)):
        exchange.finish(task_id, settlement(task_id, "1:w:1", kind))
    assert [s.task_id for s in exchange.next_request(0).settlements] == ["c", "b", "a"]


def test_renewal_answers_for_unsettled_results_too() -> None:
    exchange = holding("a", "b")
    exchange.finish("a", settlement("a", "1:w:1"))
    noted = Holding("b", "1:w:1", progress="1/2")
    assert exchange.holdings({"b": noted}) == [noted, Holding("a", "1:w:1")]


def test_settled_only_when_nothing_is_held_reported_or_asked() -> None:
    exchange = holding("a")
    assert not exchange.settled
    exchange.finish("a", settlement("a", "1:w:1"))
    assert not exchange.settled
    request = exchange.next_request(0)
    assert not exchange.settled
    exchange.answer(request, Pulled(Standing.OK, (Verdict.OK,)))
    assert exchange.settled


def test_stale_answer_does_not_turn_the_numbers_back() -> None:
    exchange = holding("a")
    request = exchange.next_request()
    exchange.answer(replace(request, number=0), Pulled(Standing.STALE))
    assert exchange.answered == 1


def test_a_request_behind_a_bell_is_for_one_task_and_is_no_longer_settled() -> None:
    exchange = Exchange(4)
    request = exchange.request_behind_bell()
    assert (request.number, request.slots, request.ahead, request.settlements) == (1, 1, 0, ())
    assert not exchange.settled
    assert exchange.free == 4
    exchange.answer(request, Pulled(Standing.OK, (), (delivery("a", "1:w:1"),)))
    assert (exchange.waiting, exchange.answered, list(exchange.held)) == (None, 1, ["a"])


def test_what_is_asked_while_a_request_waits_for_a_bell_is_asked_under_its_number() -> None:
    exchange = Exchange(4)
    waiting = exchange.request_behind_bell()
    request = exchange.next_request(0)
    assert (request.number, request.slots, exchange.waiting) == (waiting.number, 0, None)
    assert exchange.answer(request, Pulled(Standing.REPLAY, (), (delivery("a", "1:w:1"),))) != []
    assert exchange.next_request().number == 2


def test_a_request_behind_a_bell_is_unheard_once_the_store_has_run_it() -> None:
    exchange = Exchange(capacity=5, answered=6)
    assert not exchange.is_unheard(7)
    exchange.request_behind_bell()
    assert [exchange.is_unheard(request) for request in (6, 7)] == [False, True]
    exchange.next_request()
    assert not exchange.is_unheard(7)
