"""The states of a task, and every transition between them, as a table.

The scripts of the store make the transitions. They note each transition under the word of its event, in the event
stream and in the history of the task. Tests follow these words through the table and compare the resulting states with
the records. They fail on a transition that the table lacks, or that no test plays.
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
    """The events of a task. The values are the words in the event stream. For the word `settled`, the values are the
    kinds of settlements."""

    CLAIMED = "claimed"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    EXHAUSTED = "exhausted"  # its attempts are used up
    UNREADABLE = "unreadable"  # its worker could not read the operation
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    TURN = "turn"  # follows a settlement, in place of the task's end: a message waited and begins the next turn
    RETRY = "retry"
    RELEASE = "release"
    DEFER = "defer"
    SLEEP = "sleep"
    CRASHED = "crashed"
    RECOVERED = "recovered"
    RETURNED = "returned"
    DEAD_LETTER = "dead-letter"
    DELAYED = "delayed"
    PROMOTED = "promoted"
    WAITS = "waits"
    READY = "ready"
    PARENT_FAILED = "parent-failed"
    REFUSED = "refused"  # it was accepted by a ledger, and the store could not take it
    EXPIRED = "expired"
    UNSERVED = "unserved"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    MESSAGE = "message"
    CANCELED = "canceled"
    # These leave the state as it is.
    PAUSE_ASKED = "pause-asked"
    PAUSE_WITHDRAWN = "pause-withdrawn"
    MESSAGE_WAITS = "message-waits"
    JOINED = "joined"
    PUT_BACK = "put-back"
    SUSPECTED = "suspected"
    CLEARED = "cleared"
    UNKNOWN_HANDLER = "unknown-handler"
    RETRY_OF = "retry-of"
    RETRIED = "retried"
    STEP = "step"


TERMINAL = frozenset({State.COMPLETED, State.FAILED, State.REJECTED, State.CANCELED})
PARKED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.SUSPENDED})

# A late settlement (its owner was declared dead, nobody has claimed since) commits from `submitted` or `delayed`
# exactly as from `working`: the claim decides, not the state.
_COMMITS = {
    TaskEvent.COMPLETED: State.COMPLETED,
    TaskEvent.FAILED: State.FAILED,
    TaskEvent.REJECTED: State.REJECTED,
    TaskEvent.EXHAUSTED: State.FAILED,
    TaskEvent.UNREADABLE: State.REJECTED,
    TaskEvent.INPUT_REQUIRED: State.INPUT_REQUIRED,
    TaskEvent.AUTH_REQUIRED: State.AUTH_REQUIRED,
    TaskEvent.TURN: State.SUBMITTED,
}
_ANSWERED = {
    TaskEvent.MESSAGE: State.SUBMITTED,
    TaskEvent.RESUMED: State.SUBMITTED,
    TaskEvent.CANCELED: State.CANCELED,
}

# A task begins as `submitted`. One script may make several transitions: a task that is submitted with a delay, or
# crashes a second time, is `submitted` and then `delayed`, and nobody sees it in between.
TRANSITIONS: dict[State, dict[TaskEvent, State]] = {
    State.SUBMITTED: {
        TaskEvent.CLAIMED: State.WORKING,
        TaskEvent.DELAYED: State.DELAYED,
        TaskEvent.WAITS: State.WAITING,
        TaskEvent.SUSPENDED: State.SUSPENDED,
        TaskEvent.CANCELED: State.CANCELED,
        TaskEvent.EXPIRED: State.CANCELED,
        TaskEvent.PARENT_FAILED: State.FAILED,
        TaskEvent.REFUSED: State.REJECTED,
        TaskEvent.DEAD_LETTER: State.FAILED,
        TaskEvent.UNSERVED: State.FAILED,
        **_COMMITS,
    },
    State.DELAYED: {
        TaskEvent.PROMOTED: State.SUBMITTED,
        TaskEvent.SUSPENDED: State.SUSPENDED,
        TaskEvent.CANCELED: State.CANCELED,
        TaskEvent.EXPIRED: State.CANCELED,
        **_COMMITS,
    },
    State.WAITING: {
        TaskEvent.READY: State.SUBMITTED,
        TaskEvent.PARENT_FAILED: State.FAILED,
        TaskEvent.SUSPENDED: State.SUSPENDED,
        TaskEvent.CANCELED: State.CANCELED,
        TaskEvent.EXPIRED: State.CANCELED,
    },
    State.WORKING: {
        TaskEvent.SUSPENDED: State.SUSPENDED,
        TaskEvent.RETRY: State.DELAYED,
        TaskEvent.DEFER: State.DELAYED,
        TaskEvent.SLEEP: State.DELAYED,
        TaskEvent.RELEASE: State.SUBMITTED,
        TaskEvent.CRASHED: State.SUBMITTED,
        TaskEvent.RECOVERED: State.SUBMITTED,
        TaskEvent.RETURNED: State.SUBMITTED,
        TaskEvent.CANCELED: State.CANCELED,
        **_COMMITS,
    },
    State.INPUT_REQUIRED: _ANSWERED,
    State.AUTH_REQUIRED: _ANSWERED,
    State.SUSPENDED: {
        **_ANSWERED,
        TaskEvent.PARENT_FAILED: State.FAILED,
        TaskEvent.EXPIRED: State.CANCELED,
    },
    State.COMPLETED: {},
    State.FAILED: {},
    State.REJECTED: {},
    State.CANCELED: {},
}

# The state that follows an event. An event leads to the same state from everywhere.
AFTER: dict[str, State] = {event: state for row in TRANSITIONS.values() for event, state in row.items()}

# Events that leave the state as it is, and the states in which they happen.
UNCHANGED: dict[TaskEvent, frozenset[State]] = {
    # Noted behind a retry, a deferral or a sleep, with the time at which it is due.
    TaskEvent.DELAYED: frozenset({State.DELAYED}),
    TaskEvent.PAUSE_ASKED: frozenset({State.WORKING}),
    TaskEvent.PAUSE_WITHDRAWN: frozenset({State.WORKING}),
    TaskEvent.MESSAGE_WAITS: frozenset({State.SUBMITTED, State.DELAYED, State.WAITING, State.WORKING}),
    TaskEvent.JOINED: frozenset({State.SUSPENDED}),
    TaskEvent.PUT_BACK: frozenset({State.SUBMITTED}),
    TaskEvent.SUSPECTED: frozenset({State.SUBMITTED}),
    TaskEvent.CLEARED: frozenset(set(State) - TERMINAL - {State.WAITING}),
    TaskEvent.UNKNOWN_HANDLER: frozenset({State.SUBMITTED}),
    TaskEvent.RETRY_OF: frozenset({State.SUBMITTED}),
    TaskEvent.RETRIED: TERMINAL - {State.COMPLETED},
    TaskEvent.STEP: frozenset({State.WORKING}),
}


class IllegalTransitionError(ValueError):
    """An event that the table does not have for this state; nothing was changed."""


def next_state(state: State, event: TaskEvent) -> State:
    """The state after `event`; raises IllegalTransitionError if the table has no such transition."""
    if state in UNCHANGED.get(event, ()):
        return state
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise IllegalTransitionError(f"{event} does not apply to a task that is {state}") from None
