"""Bulk changes: one verb (cancel, retry, remove) for every task that a filter finds. A change is carried out in steps,
and the store keeps the progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import parse_qs

from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.core.words import long_duration
from holdfast_config.durations import seconds

PASSES = 10  # of one bulk change, at most
KEPT = 100  # bulk changes; older ones are dropped
SILENT_MS = 10_000  # after which a bulk change that runs counts as interrupted
NOT_RUNNING = "no running bulk change has this id: the change is done, was stopped before, or is unknown"
NOT_STOPPED = "no stopped bulk change has this id: the change runs, is done, or is unknown"


class BulkVerb(StrEnum):
    CANCEL = "cancel"
    RETRY = "retry"
    REMOVE = "remove"


class BulkState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"  # somebody has stopped it
    INTERRUPTED = "interrupted"  # the process that carried it out is gone
    DONE = "done"


CHANGED_BY: dict[BulkVerb, frozenset[State]] = {
    BulkVerb.CANCEL: frozenset(State) - TERMINAL,
    BulkVerb.RETRY: frozenset({State.FAILED, State.REJECTED, State.CANCELED, State.DELAYED}),
    BulkVerb.REMOVE: frozenset(TERMINAL),
}


def states_of(verb: BulkVerb, states: Sequence[State]) -> tuple[State, ...]:
    """The states in which the verb changes a task, limited to the given ones (none given: all), in the usual order."""
    return tuple(state for state in State if state in CHANGED_BY[verb] and (not states or state in states))


_ALL = {  # for a filter that names no state: the tasks that the verb changes
    BulkVerb.CANCEL: "unfinished",
    BulkVerb.RETRY: "failed, rejected, canceled or delayed",
    BulkVerb.REMOVE: "ended",
}
_PARTS = {
    "name": "of handler {}",
    "lane": "of lane {}",
    "batch": "of batch {}",
    "owner": "run by worker {}",
    "error": "with errors of kind {}",
    "text": "with the text “{}”",
    "older": "older than {}",
    "newer": "newer than {}",
}


def filter_words(query: str, verb: BulkVerb, number: int | None = None) -> str:
    """The tasks that a change of this verb finds: `12 failed tasks of lane mail, older than 2 days`. `query`: the
    filter as the query of a URL; `number`: the number of tasks, if it is known."""
    given = parse_qs(query)
    *others, last = given.get("state") or [_ALL[verb]]
    states = f"{', '.join(others)} or {last}" if others else last
    found = [words.format(_spelled(name, given[name][-1])) for name, words in _PARTS.items() if name in given]
    start = "" if number is None else f"{number:,} "
    return f"{start}{states} {'task' if number == 1 else 'tasks'}{' ' if found else ''}{', '.join(found)}"


def _spelled(name: str, text: str) -> str:
    return long_duration(seconds(text)) if name in ("older", "newer") else text


@dataclass(frozen=True, slots=True)
class BulkChange:
    """A bulk change and its progress. `wanted`, `text`: its filter as it was given; `query`: the same filter as the
    query of a URL; `reason`: as it was given. `searched`, `changed`: numbers of tasks so far. `refused`: the number of
    tasks that this pass could not change. `moved`: the number of tasks that the filter found, but that no longer
    matched when the change reached them. `cursor`: where the next step begins. `run`: the number of the run that
    carries the change out; it grows each time the change goes on. `begun_ms`, `told_ms`: the times of its beginning and
    its last report.

    Tasks move between the indexes of their states while a pass reads these indexes. So a pass misses tasks that move
    behind its cursor. Passes follow each other until one changes nothing. `pass_number` counts them from 1;
    `changed_in_pass`: the number of tasks changed in the present pass.
    """

    change_id: str
    verb: BulkVerb
    who: str
    origin: str
    query: str
    wanted: Wanted
    text: str = ""
    reason: str = ""
    changed: int = 0
    refused: int = 0
    moved: int = 0
    searched: int = 0
    pass_number: int = 1
    changed_in_pass: int = 0
    cursor: str = ""
    state: BulkState = BulkState.RUNNING
    run: int = 1
    begun_ms: int = 0
    told_ms: int = 0

    @property
    def task_reason(self) -> str:
        """The reason that is noted in each changed task: the reason given for the bulk change, and who made the
        change."""
        by = f"{_DONE[self.verb]} with others by {self.who}, from {self.origin}"
        return f"{self.reason} ({by})" if self.reason else by

    def words(self, shown: Callable[[str], str]) -> str:
        """The change in words. `shown` gets the filter's query, and removes what the reader may not see."""
        return f"{self.verb} {filter_words(shown(self.query), self.verb)}"

    @property
    def outcome(self) -> str:
        """The counts of the change in words."""
        moved = f", {self.moved} had moved out of the filter" if self.moved else ""
        is_cut = self.state is BulkState.DONE and self.changed_in_pass
        cut = f"; the last of its {PASSES} passes changed some, too: there may be more" if is_cut else ""
        return f"{self.changed} changed, {self.refused} refused{moved} of {self.searched} searched{cut}"

    def state_at(self, now_ms: int) -> BulkState:
        is_silent = self.state is BulkState.RUNNING and now_ms - self.told_ms > SILENT_MS
        return BulkState.INTERRUPTED if is_silent else self.state

    def step_at(self, now_ms: int) -> Wanted:
        """The filter of the next step. Ages count from the beginning of the change; tasks accepted after the beginning
        are left out."""
        gone, wanted = max(0, now_ms - self.begun_ms), self.wanted
        newer_ms = None if wanted.newer_ms is None else wanted.newer_ms + gone
        states = states_of(self.verb, wanted.states)
        return replace(wanted, states=states, older_ms=(wanted.older_ms or 0) + gone, newer_ms=newer_ms)

    def is_for(self, task: TaskRecord) -> bool:
        """False if the task was too young for the filter when the change began, or if it has already been retried."""
        is_retried = self.verb is BulkVerb.RETRY and bool(task.retried_as)
        return task.created_ms <= self.begun_ms - (self.wanted.older_ms or 0) and not is_retried

    def after(self, *, changed: int, refused: int, searched: int, cursor: str, moved: int = 0) -> BulkChange:
        """The change after one step. In later passes, tasks that stay unchanged are not counted as searched again."""
        new = changed + moved
        noted = replace(
            self,
            changed=self.changed + changed,
            refused=self.refused + refused,
            moved=self.moved + moved,
            searched=self.searched + (searched if self.pass_number == 1 else new),
            changed_in_pass=self.changed_in_pass + changed,
            cursor=cursor,
        )
        return noted if cursor else noted._after_pass(has_steps=bool(self.cursor))

    def _after_pass(self, *, has_steps: bool) -> BulkChange:
        """The change with its next pass, or at its end. `has_steps`: the pass had several steps, so it may have missed
        tasks that moved. After a first pass with several steps another pass follows, even if the first changed
        nothing."""
        is_proof = not self.changed_in_pass and not (has_steps and self.pass_number == 1)
        if is_proof or self.pass_number == PASSES:
            return replace(self, state=BulkState.DONE)
        return replace(self, pass_number=self.pass_number + 1, changed_in_pass=0, refused=0)


_DONE = {BulkVerb.CANCEL: "canceled", BulkVerb.RETRY: "retried", BulkVerb.REMOVE: "removed"}
