"""When a worker is recycled, and how many tasks it may still claim until then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from holdfast.core.pull_protocol import UNBOUNDED
from holdfast.core.recycle import RecycleLimits, WorkerUse, claimable, heavy, recycle_reason, refusal

MIB = 1 << 20
MEMORY = RecycleLimits(memory=100 * MIB)


def weighed(done: int, first: int, before: int, memory: int) -> WorkerUse:
    """Sizes in MiB."""
    return WorkerUse(done, first * MIB, before * MIB, memory * MIB)


def test_without_limits_no_worker_is_recycled_or_bounded() -> None:
    use = weighed(10**9, 1, 10**6, 10**6)
    assert recycle_reason(RecycleLimits(), use) == ""
    assert claimable(RecycleLimits(), use, 7) == UNBOUNDED - 7


@pytest.mark.parametrize(("chance", "tasks"), [(0.0, 100), (0.5, 95), (1.0, 90)])
def test_lives_are_spread_below_the_most_tasks(chance: float, tasks: int) -> None:
    assert RecycleLimits.of(100, None, chance) == RecycleLimits(tasks, 100, None)


def test_a_worker_is_recycled_after_its_tasks_and_may_go_on_to_the_most() -> None:
    limits = RecycleLimits(90, 100)
    assert recycle_reason(limits, WorkerUse(89)) == ""
    assert recycle_reason(limits, WorkerUse(90)) == "90 tasks"
    assert claimable(limits, WorkerUse(90), 3) == 7
    assert claimable(limits, WorkerUse(100), 0) == 0


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (weighed(10, 40, 70, 79), ""),
        (weighed(10, 40, 80, 79), ""),  # it has shrunk again
        (weighed(10, 40, 79, 80), ""),  # one look
        (weighed(10, 40, 80, 80), "memory 80 MiB of 100 MiB"),
        (weighed(10, 40, 85, 85), "memory 85 MiB of 100 MiB"),
        (weighed(1, 40, 71, 71), "memory 71 MiB of 100 MiB"),  # the next one would not fit
    ],
)
def test_memory_counts_when_two_looks_find_too_much(use: WorkerUse, why: str) -> None:
    assert recycle_reason(MEMORY, use) == why


def test_one_look_is_reason_enough_for_a_second() -> None:
    assert heavy(MEMORY, weighed(10, 40, 70, 80))
    assert not heavy(MEMORY, weighed(10, 40, 80, 70))
    assert not heavy(RecycleLimits(tasks=1), weighed(10, 40, 80, 70))


@pytest.mark.parametrize(
    ("use", "held", "more"),
    [
        (weighed(0, 40, 40, 40), 0, 1),  # nothing is known yet
        (weighed(0, 40, 40, 40), 1, 0),
        (replace(weighed(0, 40, 40, 60), tried=True), 1, 1),  # the first is still running
        (weighed(5, 40, 40, 40), 0, UNBOUNDED),  # nothing grows
        (weighed(2, 40, 60, 60), 0, 4),
        (weighed(2, 40, 60, 60), 3, 1),
        (weighed(2, 40, 60, 60), 9, 0),
        (weighed(6, 40, 90, 100), 0, 0),
        (weighed(6, 40, 90, 120), 0, 0),
    ],
)
def test_only_tasks_that_fit_into_the_memory_are_claimed(use: WorkerUse, held: int, more: int) -> None:
    assert claimable(MEMORY, use, held) == more


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (None, ""),
        (51 * MIB, ""),
        (50 * MIB, "max_memory: 50 MiB: a worker takes 40 MiB before its first task; allow more"),
        (1024, "max_memory: 1024 bytes: a worker takes 40 MiB before its first task; allow more"),
    ],
)
def test_a_worker_that_is_near_its_limit_before_its_first_task_is_refused(limit: int | None, why: str) -> None:
    assert refusal(RecycleLimits(memory=limit), 40 * MIB) == why
