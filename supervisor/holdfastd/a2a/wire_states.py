"""The states of a task as each version of A2A names them."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.core.task_states import State
from holdfastd.a2a.rpc_errors import RpcCode, RpcError

# Ours, 1.0, 0.3. A suspended task goes on with its next message, or when it is resumed.
STATES = (
    (State.SUBMITTED, "TASK_STATE_SUBMITTED", "submitted"),
    (State.DELAYED, "TASK_STATE_SUBMITTED", "submitted"),
    (State.WAITING, "TASK_STATE_SUBMITTED", "submitted"),
    (State.SUSPENDED, "TASK_STATE_SUBMITTED", "submitted"),
    (State.WORKING, "TASK_STATE_WORKING", "working"),
    (State.INPUT_REQUIRED, "TASK_STATE_INPUT_REQUIRED", "input-required"),
    (State.AUTH_REQUIRED, "TASK_STATE_AUTH_REQUIRED", "auth-required"),
    (State.COMPLETED, "TASK_STATE_COMPLETED", "completed"),
    (State.FAILED, "TASK_STATE_FAILED", "failed"),
    (State.REJECTED, "TASK_STATE_REJECTED", "rejected"),
    (State.CANCELED, "TASK_STATE_CANCELED", "canceled"),
)
NAMES_1_0 = {state: name for state, name, _ in STATES}
NAMES_0_3 = {state: name for state, _, name in STATES}


def states_of(name: str) -> tuple[State, ...]:
    """The states that a name of 1.0 stands for. Raises RpcError for another name."""
    found = tuple(state for state, known, _ in STATES if known == name)
    if not found:
        raise RpcError(
            RpcCode.INVALID_PARAMS, f"status {name[:50]!r}: one of {', '.join(dict.fromkeys(NAMES_1_0.values()))}"
        )
    return found


def is_shown(state: State) -> bool:
    """True if the name of this state says it all."""
    return NAMES_0_3[state] == state


def iso(ms: int) -> str:
    """A moment in UTC with milliseconds."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"
