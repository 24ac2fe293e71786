"""Names of spans, metrics and their attributes: the messaging semantic conventions, and our own beside them.

The conventions are still in development; a change of theirs is a change of this file.
"""

from __future__ import annotations

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION = "messaging.destination.name"
MESSAGE_ID = "messaging.message.id"
CONVERSATION_ID = "messaging.message.conversation_id"
ENVELOPE_SIZE = "messaging.message.envelope.size"
ERROR_TYPE = "error.type"

HOLDFAST = "holdfast"  # the messaging system, and the instrumentation's scope
PROCESS = "process"  # one run of a handler, as a name and as a type of operation

TASK_ID = "holdfast.task.id"
TURN = "holdfast.task.turn"
DELIVERY = "holdfast.delivery.number"
OUTCOME = "holdfast.delivery.outcome"
