"""The runs of a dead worker are found in the events of its recovery."""

from __future__ import annotations

from holdfast.core.activity import Happening
from holdfastd.steward.duties.store_duties import EVENTS_OF_TASK, PAGE, recovered


def happening(event: str, subject: str, detail: str = "", at_ms: int = 1000) -> Happening:
    return Happening(f"{at_ms}-0", event, subject, detail)


RECOVERY = [
    happening("worker-died", "dead", "signal: SIGKILL 3"),
    happening("recovered", "ahead", "signal: SIGKILL, before it had begun 1:dead:7"),
    happening("dead-letter", "again", "4 crashes"),
    happening("crashed", "again", "4 signal: SIGKILL 5:dead:6"),
    happening("crashed", "first", "1 signal: SIGKILL 1:dead:5"),
]
BEFORE = [happening("crashed", "other", "1 signal: SIGKILL 1:other:5"), happening("worker-died", "other", "x 1")]


def test_the_recoveries_of_a_worker_are_found_among_others() -> None:
    events = [happening("settled", "t"), *RECOVERY, *BEFORE]
    steps = recovered(events, "dead")
    assert steps is not None
    assert [(task, step.delivery, step.reason) for task, step in steps] == [
        ("again", 5, "signal: SIGKILL"),
        ("first", 1, "signal: SIGKILL"),
    ]


def test_more_events_are_read_until_all_recoveries_were_seen() -> None:
    assert recovered([], "dead") is None
    assert recovered(RECOVERY[:4], "dead") is None
    assert recovered(RECOVERY, "dead") is not None


def test_a_recovery_that_wrote_fewer_events_than_tasks_ends_at_the_death_before_it() -> None:
    steps = recovered([*RECOVERY[:4], BEFORE[1]], "dead")
    assert steps is not None
    assert [task for task, _ in steps] == ["again"]
    many = [happening("settled", "t")] * (3 * EVENTS_OF_TASK + PAGE)
    assert recovered([*RECOVERY[:4], *many], "dead") is not None
