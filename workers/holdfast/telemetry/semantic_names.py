"""Names of spans, events, metrics and their attributes: the messaging semantic conventions, and our own beside them.

The conventions are still in development; a change of theirs is a change of this file, with SCHEMA_URL.
"""

from __future__ import annotations

from holdfast.core.store_info import ServerAddress

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"  # the version of the conventions from which the names are

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

HOLDFAST = "holdfast"  # the messaging system, and the instrumentation's scope

# Operations, as a name and as a type.
CREATE = "create"
SEND = "send"
PROCESS = "process"
RECOVER = "recover"  # ours, as FIRE
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

LOST = "lost"  # outcomes that no handler has
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

LINK = "holdfast.link"  # an attribute of a link: what it leads to
PRODUCER = "producer"
EARLIER = "earlier delivery"

CAUSE = "holdfast.recovery.cause"


def of_server(address: ServerAddress | None) -> dict[str, str | int]:
    """The attributes of the server that holds the messages. A socket has no port."""
    if address is None:
        return {}
    return {SERVER_ADDRESS: address.host} | ({SERVER_PORT: address.port} if address.port else {})


def of_operation(name: str, lane: str, kind: str | None = None) -> dict[str, str | int]:
    """The attributes of an operation, of a type that has its name unless `kind` is another; `lane` may be empty."""
    of: dict[str, str | int] = {SYSTEM: HOLDFAST, OPERATION_NAME: name, OPERATION_TYPE: kind or name}
    return of | {DESTINATION: lane} if lane else of
