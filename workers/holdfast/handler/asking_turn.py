"""The turn that has asked the question which a turn answers: the handler goes on there, so it gets what it got then.

A handler that comes to a question runs from its beginning in the turn of the answer, with the messages and arguments
that it had when it asked: its own words would be other ones behind the answer. Only `task.question` gives the answer.
"""

from __future__ import annotations

from collections.abc import Set

import msgspec

from holdfast.core.delivery import Delivery
from holdfast.core.operations import Run
from holdfast.handler.turn import joined


def turn_before(delivery: Delivery, asked_in: Set[int]) -> Delivery | None:
    """The delivery as it was in the turn before, if that one has asked a question: `asked_in` are those that did.
    `delivery` has all messages of its turn."""
    messages = 1 + len(joined(delivery))
    turn, at = delivery.turn - messages, len(delivery.history) - 2 * messages
    if turn not in asked_in or at < 0:
        return None
    return msgspec.structs.replace(
        delivery, operation=delivery.history[at], history=delivery.history[:at], turn=turn, has_steps=True
    )


def is_resumed(delivery: Delivery) -> bool:
    """True if the turn was begun by a resume without a message: it has the message of the turn before."""
    return bool(delivery.history) and delivery.history[-2] == delivery.operation and not joined(delivery)


def as_traced(asked: Run, answer: Run) -> Run:
    """The operation of the turn that asked, in the trace of the answer."""
    if answer.trace_id is None:
        return asked
    traced = {"trace_id": answer.trace_id, "span_id": answer.span_id, "trace_flags": answer.trace_flags}
    return msgspec.structs.replace(asked, **traced, baggage=answer.baggage)
