"""Builds the messages that a handler gets: the task's earlier messages and replies, then those of this turn."""

from __future__ import annotations

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import Run, UnreadableError, read
from holdfast.core.messages import Message, with_content
from holdfast.core.result_document import reply_parts
from holdfast.handler.turn import is_whole, joined


def messages_for(delivery: Delivery, operation: Run) -> list[Message]:
    """All messages, oldest first; of earlier turns only as many as the operation's history length allows."""
    return [with_content(message) for message in _messages_for(delivery, operation)]


def _messages_for(delivery: Delivery, operation: Run) -> list[Message]:
    if not delivery.history:
        return operation.messages
    everything = _earlier(delivery) + operation.messages
    if operation.history_length is None:
        return everything
    most = max(operation.history_length, len(operation.messages))
    return everything[len(everything) - min(most, len(everything)) :]


def lacks_messages(delivery: Delivery, operation: Run) -> bool:
    """True if the delivery does not hold all earlier messages that the operation asks for."""
    if not is_whole(delivery):
        return True
    if not delivery.earlier or operation.history_length is None:
        return delivery.earlier > 0
    return len(_earlier(delivery)) + len(operation.messages) < operation.history_length


def _earlier(delivery: Delivery) -> list[Message]:
    """Operations and result documents take turns; those of this turn are not among them."""
    earlier: list[Message] = []
    for index, document in enumerate(delivery.history[: len(delivery.history) - 2 * len(joined(delivery))]):
        earlier += _reply(document) if index % 2 else _asked(document)
    return earlier


def _asked(raw: bytes) -> list[Message]:
    try:
        operation = read(raw, len(raw))
    except UnreadableError:
        return []
    return operation.messages if isinstance(operation, Run) else []


def _reply(document: bytes) -> list[Message]:
    """The reply of a turn; none if its result is empty, so that every message has a part."""
    parts = reply_parts(document)
    return [{"kind": "message", "role": "agent", "parts": parts}] if parts else []
