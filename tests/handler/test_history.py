"""The messages a handler gets in a later turn."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import Run, build_parts, read
from holdfast.core.outcomes import Completed, InputAsked, Raised
from holdfast.core.settle import RetryPolicy, settlement
from holdfast.handler.failures import outcome_of_error
from holdfast.handler.returned_value import outcome_of
from holdfast.handler.turn import messages_for
from tests.envelopes import build_run
from tests.handler.deliveries import delivery_of, document, run_handler


def asked(text: str) -> bytes:
    return build_run("t-1", build_parts(text)).operation


def replied(value: object) -> bytes:
    outcome = outcome_of(value, 1000)
    assert isinstance(outcome, Completed | InputAsked)
    return outcome.result


def failed(error: Exception) -> bytes:
    outcome = outcome_of_error(error)
    assert isinstance(outcome, Raised)
    settled = settlement(outcome, delivery_of(max_attempts=1), RetryPolicy(), 0.0)
    assert settled is not None
    return settled.result


def texts(delivery: Delivery, length: int | None = None) -> list[tuple[str, str]]:
    operation = read(build_run("t-1", build_parts("third"), history_length=length).operation, 1000)
    assert isinstance(operation, Run)
    return [(message["role"], message["parts"][0].get("text", "")) for message in messages_for(delivery, operation)]


HISTORY = (asked("first"), replied({"state": "input-required", "prompt": "which?"}), asked("second"), replied("done"))


def test_a_first_turn_has_its_own_message_alone() -> None:
    assert texts(delivery_of()) == [("user", "third")]


def test_a_later_turn_has_all_messages_and_replies_in_order() -> None:
    assert texts(delivery_of(history=HISTORY)) == [
        ("user", "first"),
        ("agent", "which?"),
        ("user", "second"),
        ("agent", "done"),
        ("user", "third"),
    ]


@pytest.mark.parametrize(("length", "kept"), [(0, 1), (1, 1), (2, 2), (5, 5), (99, 5)])
def test_the_history_length_keeps_the_latest_but_never_drops_this_turn(length: int, kept: int) -> None:
    latest = texts(delivery_of(history=HISTORY), length)
    assert len(latest) == kept
    assert latest[-1] == ("user", "third")


def test_a_turn_that_failed_replied_with_its_error() -> None:
    history = (asked("first"), failed(ValueError("no such order")))
    assert texts(delivery_of(history=history))[1] == ("agent", "no such order")


def test_a_turn_that_said_nothing_leaves_no_reply() -> None:
    assert texts(delivery_of(history=(asked("first"), replied(None)))) == [("user", "first"), ("user", "third")]


def test_what_cannot_be_read_of_the_past_is_left_out() -> None:
    history = (
        b"{",
        b"[" * 100_000,
        b'{"operation":"pause","params":{"task_id":"t"}}',
        b'{"parts":7}',
        b"\xff",
        b'{"error":{}}',
    )
    assert texts(delivery_of(history=history)) == [("user", "third")]


def test_replies_can_be_read_by_content_too() -> None:
    operation = read(asked("second"), 1000)
    assert isinstance(operation, Run)
    messages = messages_for(delivery_of(history=HISTORY[:2]), operation)
    assert messages[1] == {"kind": "message", "role": "agent", "content": "which?", "parts": messages[1]["parts"]}


@pytest.mark.anyio
async def test_the_handler_gets_the_whole_conversation() -> None:
    async def count(messages: list[dict[str, Any]]) -> int:
        return len(messages)

    result = document(await run_handler(count, delivery_of("third", history=HISTORY)))
    assert result["parts"][0]["data"] == 5
