"""The states of a task, and every transition between them, as a table.

The Lua operations keep the same table where the truth lives, for every store.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    SUBMITTED = "submitted"
    DELAYED = "delayed"
    WAITING = "waiting"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELED = "canceled"


class TaskEvent(StrEnum):
    PULL = "pull"
    COMPLETE = "complete"
    FAIL = "fail"
    REJECT = "reject"
    ASK_INPUT = "ask-input"
    ASK_AUTH = "ask-auth"
    SUSPEND = "suspend"
    RETRY = "retry"
    RELEASE = "release"
    DEFER = "defer"
    CRASH_FIRST = "crash-first"
    CRASH_LATER = "crash-later"
    GIVE_UP = "give-up"
    PROMOTE = "promote"
    READY = "ready"
    READY_LATER = "ready-later"
    PARENT_FAILED = "parent-failed"
    EXPIRE = "expire"
    PAUSE = "pause"
    RESUME = "resume"
    RESUME_WAITING = "resume-waiting"
    MESSAGE = "message"
    CANCEL = "cancel"


TERMINAL = frozenset({State.COMPLETED, State.FAILED, State.REJECTED, State.CANCELED})
PARKED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.SUSPENDED})

# A late settle (its owner was declared dead, nobody has claimed since) commits from `submitted` or `delayed`
# exactly as from `working`: the claim decides, not the state.
_COMMITS = {
    TaskEvent.COMPLETE: State.COMPLETED,
    TaskEvent.FAIL: State.FAILED,
    TaskEvent.REJECT: State.REJECTED,
    TaskEvent.ASK_INPUT: State.INPUT_REQUIRED,
    TaskEvent.ASK_AUTH: State.AUTH_REQUIRED,
}

TRANSITIONS: dict[State, dict[TaskEvent, State]] = {
    State.SUBMITTED: {
        TaskEvent.PULL: State.WORKING,
        TaskEvent.PAUSE: State.SUSPENDED,
        TaskEvent.CANCEL: State.CANCELED,
        TaskEvent.EXPIRE: State.CANCELED,
        **_COMMITS,
    },
    State.DELAYED: {
        TaskEvent.PROMOTE: State.SUBMITTED,
        TaskEvent.PAUSE: State.SUSPENDED,
        TaskEvent.CANCEL: State.CANCELED,
        TaskEvent.EXPIRE: State.CANCELED,
        **_COMMITS,
    },
    State.WAITING: {
        TaskEvent.READY: State.SUBMITTED,
        TaskEvent.READY_LATER: State.DELAYED,
        TaskEvent.PARENT_FAILED: State.FAILED,
        TaskEvent.PAUSE: State.SUSPENDED,
        TaskEvent.CANCEL: State.CANCELED,
        TaskEvent.EXPIRE: State.CANCELED,
    },
    State.WORKING: {
        TaskEvent.SUSPEND: State.SUSPENDED,
        TaskEvent.RETRY: State.DELAYED,
        TaskEvent.RELEASE: State.SUBMITTED,
        TaskEvent.DEFER: State.DELAYED,
        TaskEvent.CRASH_FIRST: State.SUBMITTED,
        TaskEvent.CRASH_LATER: State.DELAYED,
        TaskEvent.GIVE_UP: State.FAILED,
        TaskEvent.CANCEL: State.CANCELED,
        **_COMMITS,
    },
    State.INPUT_REQUIRED: {
        TaskEvent.MESSAGE: State.SUBMITTED,
        TaskEvent.RESUME: State.SUBMITTED,
        TaskEvent.CANCEL: State.CANCELED,
    },
    State.AUTH_REQUIRED: {
        TaskEvent.MESSAGE: State.SUBMITTED,
        TaskEvent.RESUME: State.SUBMITTED,
        TaskEvent.CANCEL: State.CANCELED,
    },
    State.SUSPENDED: {
        TaskEvent.MESSAGE: State.SUBMITTED,
        TaskEvent.RESUME: State.SUBMITTED,
        TaskEvent.RESUME_WAITING: State.WAITING,
        TaskEvent.PARENT_FAILED: State.FAILED,
        TaskEvent.CANCEL: State.CANCELED,
        TaskEvent.EXPIRE: State.CANCELED,
    },
    State.COMPLETED: {},
    State.FAILED: {},
    State.REJECTED: {},
    State.CANCELED: {},
}


class IllegalTransitionError(ValueError):
    """An event that the table does not have for this state; nothing was changed."""


def next_state(state: State, event: TaskEvent) -> State:
    """The state after `event`; raises IllegalTransitionError where the table has none."""
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise IllegalTransitionError(f"{event} does not apply to a task that is {state}") from None
