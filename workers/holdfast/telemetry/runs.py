"""The facts about a run of a task that its span holds, as plain records; and about a run whose worker was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from holdfast.core.envelope import Run
from holdfast.telemetry import semantic_names

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

    from holdfast.core.delivery import Delivery


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


# A delivery whose worker was lost, read from the store's records and events.


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event of the task's trail. `number`: of crashes or recoveries; `due_ms`: when it may run again."""

    event: str
    at_ms: int
    number: int = 0
    due_ms: int | None = None

    @property
    def name(self) -> str:
        return f"{semantic_names.HOLDFAST}.{self.event.replace('-', '_')}"

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        delay = {} if self.due_ms is None else {semantic_names.DELAY: (self.due_ms - self.at_ms) / 1000}
        return {**delay, **({semantic_names.CRASHES: self.number} if self.number else {})}


@dataclass(frozen=True, slots=True)
class LostRun:
    """`cause`: of the worker's end. `lost_ms`: when the store took note of it and put the task back; Unix times."""

    task_id: str
    lane: str
    turn: int
    delivery: int
    incarnation: str
    operation: Run
    size: int
    handler: str
    cause: str
    claimed_ms: int
    lost_ms: int
    events: tuple[RunEvent, ...] = ()

    def attributes(self) -> dict[str, AttributeValue]:
        return {
            semantic_names.CLIENT_ID: self.incarnation,
            semantic_names.HANDLER: self.handler,
            semantic_names.TURN: self.turn,
            semantic_names.DELIVERY: self.delivery,
            semantic_names.OUTCOME: semantic_names.LOST,
            semantic_names.ERROR_TYPE: self.cause,
        }

    def recovery_attributes(self) -> dict[str, AttributeValue]:
        return {
            semantic_names.TASK_ID: self.task_id,
            semantic_names.CLIENT_ID: self.incarnation,
            semantic_names.CAUSE: self.cause,
        }
