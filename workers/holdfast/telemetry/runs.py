"""Facts about a run of a task, and about a run whose worker was lost. Spans are made from these facts."""

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

    def attributes(self) -> dict[str, AttributeValue]:
        of = self.delivery
        return {
            **_of_task(of.lane, of.task_id, self.operation, len(of.operation)),
            semantic_names.CLIENT_ID: of.claim.partition(":")[2].rpartition(":")[0],
            semantic_names.HANDLER: self.handler,
            semantic_names.TURN: of.turn,
            semantic_names.DELIVERY: of.delivery,
            semantic_names.ATTEMPT: of.attempts + 1,
            semantic_names.WAIT: of.waited_ms / 1000,
        }


def _of_task(lane: str, task_id: str, operation: Run, size: int) -> dict[str, AttributeValue]:
    return {
        **semantic_names.of_operation(semantic_names.PROCESS, lane),
        semantic_names.MESSAGE_ID: operation.message_id,
        semantic_names.CONVERSATION_ID: operation.context_id or task_id,
        semantic_names.ENVELOPE_SIZE: size,
        semantic_names.TASK_ID: task_id,
    }


# The facts about a delivery whose worker was lost, from the store's records and events.


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event in the task's history. `number`: the number of crashes, or of recoveries in a row; 0 for other events.
    `due_ms`: the Unix time from which the task may run again."""

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
    """A delivery whose worker was lost. `cause`: how the worker ended. `claimed_ms` and `lost_ms`: the Unix times when
    the task was claimed, and when the store put it back."""

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
            **_of_task(self.lane, self.task_id, self.operation, self.size),
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
