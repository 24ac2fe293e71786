"""Collects the messages of a delivery: messages of its turn, of earlier turns, and of the turn whose question it
answers.

A turn has one message, or several if more joined it after a pause had interrupted it. In a delivery's history only the
last message of a turn has a result, because all messages of a turn share one outcome.

A pull carries only the latest part of a long history. The worker reads the rest later, the newest first: see
`with_turn` and `with_history` in task.py.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import msgspec

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import Control, Run, UnreadableError, kept_run, read
from holdfast.core.messages import Message, with_content
from holdfast.core.outcomes import reply_parts

_NOTHING = Run(task_id="", message_id="")


def joined(delivery: Delivery) -> tuple[bytes, ...]:
    """The operations of the messages that came earlier in this turn, as far as the delivery has them."""
    count = 0
    for result in reversed(delivery.history[1::2]):
        if result:
            break
        count += 1
    return delivery.history[len(delivery.history) - 2 * count :: 2] if count else ()


def is_whole(delivery: Delivery) -> bool:
    """False if the delivery may lack messages of its turn."""
    return not delivery.earlier or 2 * len(joined(delivery)) < len(delivery.history)


def read_turn(delivery: Delivery, max_bytes: int) -> tuple[Run, str]:
    """All messages of the turn as one operation, and an empty text. If a message cannot be read: an empty operation,
    and the reason."""
    try:
        if not delivery.history:
            operation = read(delivery.operation, max_bytes)
            return (operation, "") if isinstance(operation, Run) else _no_run(operation)
        operations = [read(raw, max_bytes) for raw in (*joined(delivery), delivery.operation)]
    except UnreadableError as error:
        return _NOTHING, str(error)
    runs = [operation for operation in operations if isinstance(operation, Run)]
    for operation in operations:
        if not isinstance(operation, Run):
            return _no_run(operation)
    return (runs[0] if len(runs) == 1 else _as_one(runs)), ""


def _no_run(operation: Control) -> tuple[Run, str]:
    return _NOTHING, f"a {operation.verb} is nothing to run"


def _as_one(runs: Sequence[Run]) -> Run:
    """Join several messages into one operation. The first message that names a handler decides which handler runs. The
    last message decides the options of the run."""
    first, last = runs[0], runs[-1]
    call = next((run for run in runs if run.name is not None), first)
    traced = next((run for run in reversed(runs) if run.trace_id is not None), last)
    lengths = [run.history_length for run in runs if run.history_length is not None]
    metadata: dict[str, Any] = {}
    for run in runs:
        metadata.update(run.metadata)
    return msgspec.structs.replace(
        last,
        context_id=first.context_id or last.context_id,
        messages=[message for run in runs for message in run.messages],
        name=call.name,
        kwargs=call.kwargs,
        trace_id=traced.trace_id,
        span_id=traced.span_id,
        trace_flags=traced.trace_flags,
        baggage=traced.baggage,
        history_length=lengths[-1] if lengths else None,
        metadata=metadata,
    )


# Finds the turn that asked the question which this turn answers. The handler runs again as in that turn.
#
# In the turn of the answer, the handler runs from its beginning with the messages and arguments that it had when it
# asked. With the answer among its messages it might ask other questions. Only `task.question` gives the answer.


def turn_before(delivery: Delivery, asked_in: Set[int]) -> Delivery | None:
    """The delivery as it was in the turn before this one, if that turn asked a question; else None. `asked_in`: the
    turns that asked questions. `delivery` must have all messages of its turn."""
    messages = 1 + len(joined(delivery))
    turn, at = delivery.turn - messages, len(delivery.history) - 2 * messages
    if turn not in asked_in or at < 0:
        return None
    return msgspec.structs.replace(
        delivery, operation=delivery.history[at], history=delivery.history[:at], turn=turn, has_steps=True
    )


def is_resumed(delivery: Delivery) -> bool:
    """True if a resume without a message began the turn. Such a turn contains the message of the turn before."""
    return bool(delivery.history) and delivery.history[-2] == delivery.operation and not joined(delivery)


def as_traced(asked: Run, answer: Run) -> Run:
    """The operation of the turn that asked the question, with the trace of the answer."""
    if answer.trace_id is None:
        return asked
    traced = {"trace_id": answer.trace_id, "span_id": answer.span_id, "trace_flags": answer.trace_flags}
    return msgspec.structs.replace(asked, **traced, baggage=answer.baggage)


# Builds the messages that a handler gets: the task's earlier messages and replies, then those of this turn.


def messages_for(delivery: Delivery, operation: Run) -> list[Message]:
    """All messages for the handler, oldest first. The operation's history length limits the messages of earlier
    turns."""
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
    """The messages of earlier turns, without those of this turn. In the history, operations and result documents
    alternate."""
    earlier: list[Message] = []
    for index, document in enumerate(delivery.history[: len(delivery.history) - 2 * len(joined(delivery))]):
        earlier += _reply(document) if index % 2 else _asked(document)
    return earlier


def _asked(raw: bytes) -> list[Message]:
    run = kept_run(raw)
    return run.messages if run else []


def _reply(document: bytes) -> list[Message]:
    """The reply of a turn; none if its result is empty, because every message must have a part."""
    parts = reply_parts(document)
    return [{"kind": "message", "role": "agent", "parts": parts}] if parts else []
