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


class Event(StrEnum):
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
    Event.COMPLETE: State.COMPLETED,
    Event.FAIL: State.FAILED,
    Event.REJECT: State.REJECTED,
    Event.ASK_INPUT: State.INPUT_REQUIRED,
    Event.ASK_AUTH: State.AUTH_REQUIRED,
}

TRANSITIONS: dict[State, dict[Event, State]] = {
    State.SUBMITTED: {
        Event.PULL: State.WORKING,
        Event.PAUSE: State.SUSPENDED,
        Event.CANCEL: State.CANCELED,
        Event.EXPIRE: State.CANCELED,
        **_COMMITS,
    },
    State.DELAYED: {
        Event.PROMOTE: State.SUBMITTED,
        Event.PAUSE: State.SUSPENDED,
        Event.CANCEL: State.CANCELED,
        Event.EXPIRE: State.CANCELED,
        **_COMMITS,
    },
    State.WAITING: {
        Event.READY: State.SUBMITTED,
        Event.READY_LATER: State.DELAYED,
        Event.PARENT_FAILED: State.FAILED,
        Event.PAUSE: State.SUSPENDED,
        Event.CANCEL: State.CANCELED,
        Event.EXPIRE: State.CANCELED,
    },
    State.WORKING: {
        Event.SUSPEND: State.SUSPENDED,
        Event.RETRY: State.DELAYED,
        Event.RELEASE: State.SUBMITTED,
        Event.DEFER: State.DELAYED,
        Event.CRASH_FIRST: State.SUBMITTED,
        Event.CRASH_LATER: State.DELAYED,
        Event.GIVE_UP: State.FAILED,
        Event.CANCEL: State.CANCELED,
        **_COMMITS,
    },
    State.INPUT_REQUIRED: {
        Event.MESSAGE: State.SUBMITTED,
        Event.RESUME: State.SUBMITTED,
        Event.CANCEL: State.CANCELED,
    },
    State.AUTH_REQUIRED: {
        Event.MESSAGE: State.SUBMITTED,
        Event.RESUME: State.SUBMITTED,
        Event.CANCEL: State.CANCELED,
    },
    State.SUSPENDED: {
        Event.MESSAGE: State.SUBMITTED,
        Event.RESUME: State.SUBMITTED,
        Event.RESUME_WAITING: State.WAITING,
        Event.PARENT_FAILED: State.FAILED,
        Event.CANCEL: State.CANCELED,
        Event.EXPIRE: State.CANCELED,
    },
    State.COMPLETED: {},
    State.FAILED: {},
    State.REJECTED: {},
    State.CANCELED: {},
}


class IllegalTransitionError(ValueError):
    """An event that the table does not have for this state; nothing was changed."""


def next_state(state: State, event: Event) -> State:
    """The state after `event`; raises IllegalTransitionError where the table has none."""
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise IllegalTransitionError(f"{event} does not apply to a task that is {state}") from None
