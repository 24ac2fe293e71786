"""The table of states: what can never happen to a task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.task_states import (
    PARKED,
    TERMINAL,
    TRANSITIONS,
    UNCHANGED,
    IllegalTransitionError,
    State,
    TaskEvent,
    next_state,
)

HISTORIES = st.lists(st.sampled_from(TaskEvent), max_size=60)


def play(history: list[TaskEvent]) -> list[State]:
    """The states a task goes through; what does not apply is refused and changes nothing."""
    states = [State.SUBMITTED]
    for event in history:
        try:
            states.append(next_state(states[-1], event))
        except IllegalTransitionError:
            states.append(states[-1])
    return states


@given(HISTORIES)
def test_a_task_that_has_ended_stays_as_it_is(history: list[TaskEvent]) -> None:
    states = play(history)
    ended = [state for state in states if state in TERMINAL]
    assert len(set(ended)) <= 1
    assert not ended or states[states.index(ended[0]) :] == ended


@given(HISTORIES)
def test_only_a_claim_makes_a_task_working(history: list[TaskEvent]) -> None:
    states = play(history)
    for before, event, after in zip(states, history, states[1:], strict=False):
        if after is State.WORKING and before is not State.WORKING:
            assert (before, event) == (State.SUBMITTED, TaskEvent.CLAIMED)


@pytest.mark.parametrize("state", sorted(set(State) - TERMINAL))
def test_cancel_ends_every_task_that_has_not_ended(state: State) -> None:
    assert next_state(state, TaskEvent.CANCELED) is State.CANCELED


@pytest.mark.parametrize("state", sorted(TERMINAL))
@pytest.mark.parametrize("event", sorted(set(TaskEvent) - {TaskEvent.RETRIED}))
def test_nothing_applies_to_a_task_that_has_ended(state: State, event: TaskEvent) -> None:
    with pytest.raises(IllegalTransitionError, match=f"{event} does not apply to a task that is {state}"):
        next_state(state, event)


@pytest.mark.parametrize("state", sorted(PARKED))
@pytest.mark.parametrize("event", [TaskEvent.MESSAGE, TaskEvent.RESUMED])
def test_a_parked_task_goes_on_from_the_queue(state: State, event: TaskEvent) -> None:
    assert next_state(state, event) is State.SUBMITTED


@pytest.mark.parametrize("event", [TaskEvent.RETRY, TaskEvent.RELEASE, TaskEvent.CRASHED, TaskEvent.RECOVERED])
def test_only_a_working_task_is_given_back(event: TaskEvent) -> None:
    assert next_state(State.WORKING, event) in {State.SUBMITTED, State.DELAYED}
    for state in set(State) - {State.WORKING}:
        with pytest.raises(IllegalTransitionError):
            next_state(state, event)


def test_every_state_has_a_row_and_every_event_a_use() -> None:
    assert set(TRANSITIONS) == set(State)
    assert {event for row in TRANSITIONS.values() for event in row} | set(UNCHANGED) == set(TaskEvent)


def test_every_state_can_be_reached() -> None:
    reached, new = {State.SUBMITTED}, {State.SUBMITTED}
    while new:
        new = {after for state in new for after in TRANSITIONS[state].values()} - reached
        reached |= new
    assert reached == set(State)
