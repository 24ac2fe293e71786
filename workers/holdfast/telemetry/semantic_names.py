"""Names of spans, events and attributes: those of OpenTelemetry's messaging conventions, and Holdfast's own.

The conventions are still in development. When they change, change this file and SCHEMA_URL.
"""

from __future__ import annotations

from holdfast.core.store_info import ServerAddress

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"  # the version of the conventions that defines these names

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION = "messaging.destination.name"
CLIENT_ID = "messaging.client.id"
MESSAGE_ID = "messaging.message.id"
CONVERSATION_ID = "messaging.message.conversation_id"
ENVELOPE_SIZE = "messaging.message.envelope.size"
BATCH_COUNT = "messaging.batch.message_count"
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
EXCEPTION_EVENT = "exception"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_STACK = "exception.stacktrace"

HOLDFAST = "holdfast"  # the name of the messaging system and of the instrumentation scope

# Operations: values of both OPERATION_NAME and OPERATION_TYPE.
CREATE = "create"
SEND = "send"
PROCESS = "process"
RECOVER = "recover"  # Holdfast's own, like FIRE
FIRE = "fire"

TASK_ID = "holdfast.task.id"
TURN = "holdfast.task.turn"
HANDLER = "holdfast.task.handler"
ATTEMPT = "holdfast.task.attempt"
WAIT = "holdfast.task.wait"  # seconds
CRASHES = "holdfast.task.crashes"
DELIVERY = "holdfast.delivery.number"
OUTCOME = "holdfast.delivery.outcome"
STOPPED_BY = "holdfast.delivery.stopped_by"
SETTLEMENT = "holdfast.delivery.settlement"
SCHEDULE_ID = "holdfast.schedule.id"
LATENESS = "holdfast.schedule.lateness"  # seconds

LOST = "lost"  # this outcome and TOO_LATE come from the store, not from a handler
TOO_LATE = "too late"

# Events of the span of a delivery or of a recovery.
CHECKPOINT_EVENT = "holdfast.checkpoint"
RETRY_EVENT = "holdfast.retry"
PAUSE_EVENT = "holdfast.pause"
RELEASE_EVENT = "holdfast.release"
DEAD_LETTER_EVENT = "holdfast.dead_letter"
LOST_EVENT = "holdfast.lost"
SIZE = "holdfast.checkpoint.size"  # bytes
DELAY = "holdfast.retry.delay"  # seconds

LINK = "holdfast.link"  # the attribute of a link that says what it leads to: PRODUCER or EARLIER
PRODUCER = "producer"
EARLIER = "earlier delivery"

CAUSE = "holdfast.recovery.cause"


def of_server(address: ServerAddress | None) -> dict[str, str | int]:
    """The attributes for the address of the store's server. A Unix socket has no port."""
    if address is None:
        return {}
    return {SERVER_ADDRESS: address.host} | ({SERVER_PORT: address.port} if address.port else {})


def of_operation(name: str, lane: str, kind: str | None = None) -> dict[str, str | int]:
    """The attributes of an operation. `kind`: the type of the operation; by default its name. `lane` may be empty."""
    of: dict[str, str | int] = {SYSTEM: HOLDFAST, OPERATION_NAME: name, OPERATION_TYPE: kind or name}
    return of | {DESTINATION: lane} if lane else of
