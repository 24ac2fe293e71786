"""The messages of one turn: one, or several where more joined it after a pause had interrupted it.

In a delivery's history those before the last one have no result of their own: they share the outcome of the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import Control, Run, UnreadableError, read

_NOTHING = Run(task_id="", message_id="")


def joined(delivery: Delivery) -> tuple[bytes, ...]:
    """The operations of this turn before the last one, as far as the delivery has them."""
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
    """All messages of the turn as one operation; or an empty one, and the reason why one of them cannot be read."""
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
    """One operation of several messages: the first one that calls a handler decides which runs; for options of the run
    the last message counts."""
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
