"""RunRecord: the facts about a delivery for its span, as a plain record. They become attributes when the span is
sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.util.types import AttributeValue

from holdfast.telemetry import semantic_names

if TYPE_CHECKING:
    from holdfast.core.delivery import Delivery
    from holdfast.core.envelope import Run


class StartedRun(NamedTuple):
    delivery: Delivery
    operation: Run
    handler: str
    start_ns: int

    def record(self) -> RunRecord:
        delivery, operation = self.delivery, self.operation
        return RunRecord(
            delivery.task_id,
            delivery.lane,
            delivery.claim,
            self.handler,
            delivery.turn,
            delivery.delivery,
            delivery.attempts,
            delivery.waited_ms,
            len(delivery.operation),
            operation.message_id,
            operation.context_id,
            operation.trace_id,
            operation.span_id,
            operation.trace_flags,
            self.start_ns,
        )


class RunRecord(NamedTuple):
    """`trace_id`, `span_id` and `trace_flags` are the producer's. `size`: bytes of the operation, which is not kept."""

    task_id: str
    lane: str
    claim: str
    handler: str
    turn: int
    delivery: int
    attempts: int
    waited_ms: int
    size: int
    message_id: str
    context_id: str | None
    trace_id: str | None
    span_id: str | None
    trace_flags: int | None
    start_ns: int

    def attributes(self) -> dict[str, AttributeValue]:
        return {
            semantic_names.SYSTEM: semantic_names.HOLDFAST,
            semantic_names.OPERATION_NAME: semantic_names.PROCESS,
            semantic_names.OPERATION_TYPE: semantic_names.PROCESS,
            semantic_names.DESTINATION: self.lane,
            semantic_names.MESSAGE_ID: self.message_id,
            semantic_names.CONVERSATION_ID: self.context_id or self.task_id,
            semantic_names.ENVELOPE_SIZE: self.size,
            semantic_names.TASK_ID: self.task_id,
            semantic_names.CLIENT_ID: self.claim.partition(":")[2].rpartition(":")[0],
            semantic_names.HANDLER: self.handler,
            semantic_names.TURN: self.turn,
            semantic_names.DELIVERY: self.delivery,
            semantic_names.ATTEMPT: self.attempts + 1,
            semantic_names.WAIT: self.waited_ms / 1000,
        }
