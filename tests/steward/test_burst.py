"""When a burst ends, and what it says: decided from what the steward has seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.ipc.channel import Left, Ready
from holdfastd.steward.duties.upkeep import burst_progress
from tests.core.histories import STEWARD, History, events_logged, shown, worker
from tests.steward.surroundings import AWAY, DutySurroundings, run_until

NOTHING = Left(False, {"completed": 5, "failed": 1})
SOMETHING = Left(True, {"completed": 2})


def test_two_looks_in_a_row_that_find_nothing_end_the_service_with_zero() -> None:
    history = History(workers=1).started()
    assert events_logged(history.hear(STEWARD, NOTHING)) == []
    assert events_logged(history.hear(STEWARD, NOTHING)) == ["draining"]
    history.tick()
    history.leave(worker(0))
    history.acknowledge(next(iter(history.view.unacknowledged)), recovered=0)
    history.die(STEWARD, 0)
    assert history.view.over == 0
    assert shown(history.done)[-1] == "nothing is left: 0 completed"


def test_a_look_that_finds_something_in_between_begins_anew() -> None:
    history = History(workers=1).started()
    for look in (NOTHING, SOMETHING, NOTHING):
        history.hear(STEWARD, look)
    assert history.view.stopping is None
    history.hear(STEWARD, NOTHING)
    assert history.view.stopping is not None


def test_an_empty_queue_does_not_hide_a_handler_that_cannot_be_booted() -> None:
    history = History(workers=1)
    history.tick()
    history.hear(STEWARD, Ready())
    history.tick()
    for _ in range(3):
        history.hear(STEWARD, NOTHING)
    assert history.view.stopping is None
    history.hear(worker(0), Ready())
    history.hear(STEWARD, NOTHING)
    assert history.view.stopping is not None


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (Left(False, {"completed": 9, "failed": 1}), "nothing is left: 7 completed, 1 failed"),
        (
            Left(False, {"completed": 2}, 1, 0.4),
            "nothing more can run now: 0 completed; 1 task stays delayed, the next is due in 0 s",
        ),
        (
            Left(False, {"completed": 2}, unserved=2),
            "nothing more can run now: 0 completed; 2 tasks stay for handlers that no live worker has: "
            "supervisor doctor names them",
        ),
        (
            Left(False, {"completed": 3}, 7, 90.2),
            "nothing more can run now: 1 completed; 7 tasks stay delayed, the next is due in 90 s",
        ),
    ],
)
def test_the_last_words_tell_what_this_run_did_and_what_it_leaves(last: Left, words: str) -> None:
    history = History(workers=1).started()
    for look in (SOMETHING, last, last):
        history.hear(STEWARD, look)
    assert history.view.stopping is not None
    assert history.view.stopping.closing_line == words


@pytest.mark.anyio
async def test_a_store_that_is_away_is_not_taken_for_empty(tmp_path: Path) -> None:
    surroundings, left = DutySurroundings(tmp_path), list[Left]()
    surroundings.store.answers["left"] = [AWAY, AWAY, (False, 1500, 0)]
    await run_until(burst_progress(surroundings.store, ["a"], left.append), surroundings.health, lambda: bool(left))
    assert left == [Left(False, {"canceled": 0, "completed": 0, "failed": 0, "rejected": 0}, 0, 1.5)]
    assert len(surroundings.called("left")) == 3
