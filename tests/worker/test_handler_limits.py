"""Places of one handler: who has one, who waits for one, when the rest tries again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from holdfast.worker.delivery_bounds import FIRST_GUESS, LONGEST, SHORTEST, HandlerLimit, HandlerLimits

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Visitors:
    """Tasks that run at once until they are told to leave."""

    def __init__(self, limits: HandlerLimits, limit: HandlerLimit, group: anyio.abc.TaskGroup) -> None:
        self._limits, self._limit, self._group = limits, limit, group
        self.inside: list[str] = []
        self._told: dict[str, anyio.Event] = {}

    async def come(self, name: str) -> None:
        self._told[name] = anyio.Event()
        self._group.start_soon(self._visit, name)
        await anyio.wait_all_tasks_blocked()

    async def leave(self, name: str) -> None:
        self._told[name].set()
        await anyio.wait_all_tasks_blocked()

    async def _visit(self, name: str) -> None:
        async with self._limits.enter(self._limit):
            self.inside.append(name)
            await self._told[name].wait()
            self.inside.remove(name)


async def visit(limits: HandlerLimits, limit: HandlerLimit, play: Callable[[Visitors], Awaitable[None]]) -> None:
    async with anyio.create_task_group() as group:
        await play(Visitors(limits, limit, group))
        group.cancel_scope.cancel()


async def test_so_many_are_in_a_room_and_a_quarter_of_the_slots_waits(clock: Clock) -> None:
    limits = HandlerLimits(8, clock)
    limit = limits.of("report", 1)
    assert limits.of("report", 1) is limit

    async def play(visitors: Visitors) -> None:
        await visitors.come("a")
        assert (limit.is_full, limits.may_wait()) == (True, True)
        await visitors.come("b")
        assert limits.may_wait()
        await visitors.come("c")
        assert (visitors.inside, limits.may_wait()) == (["a"], False)
        await visitors.leave("a")
        assert (visitors.inside, limits.may_wait()) == (["b"], True)
        await visitors.leave("b")
        await visitors.leave("c")
        assert (limit.is_full, limits.may_wait()) == (False, True)

    await visit(limits, limit, play)


async def test_who_is_cancelled_while_it_waits_leaves_no_trace(clock: Clock) -> None:
    limits = HandlerLimits(4, clock)
    limit = limits.of("report", 1)

    async def play(visitors: Visitors) -> None:
        await visitors.come("a")
        with anyio.move_on_after(0):
            async with limits.enter(limit):
                raise AssertionError("there was no place")
        assert limits.may_wait()
        await visitors.leave("a")
        assert not limit.is_full

    await visit(limits, limit, play)


async def test_a_worker_with_few_slots_lets_nobody_wait(clock: Clock) -> None:
    assert not HandlerLimits(3, clock).may_wait()


async def test_each_that_is_deferred_has_its_turn_behind_the_one_before(clock: Clock) -> None:
    limit = HandlerLimit(2, clock)
    waits = [limit.seconds_to_turn() for _ in range(4)]
    assert waits == pytest.approx([FIRST_GUESS / 2 * n for n in (1, 2, 3, 4)])
    clock.now += 1
    assert limit.seconds_to_turn() == pytest.approx(FIRST_GUESS / 2)


async def test_turns_come_as_runs_have_taken(clock: Clock) -> None:
    limits = HandlerLimits(4, clock)
    limit = limits.of("report", 1)
    for _ in range(30):
        async with limits.enter(limit):
            clock.now += 4
    assert limit.seconds_to_turn() == pytest.approx(4, rel=0.05)


async def test_a_run_that_takes_longer_than_any_before_puts_turns_off(clock: Clock) -> None:
    limits = HandlerLimits(4, clock)
    limit = limits.of("report", 1)
    async with limits.enter(limit):
        clock.now += 7
        assert limit.seconds_to_turn() == pytest.approx(7)


async def test_turns_are_never_at_once_and_never_far_off(clock: Clock) -> None:
    limit = HandlerLimit(1000, clock)
    assert limit.seconds_to_turn() == SHORTEST
    crowded = HandlerLimit(1, clock)
    assert [crowded.seconds_to_turn() for _ in range(1000)][-1] == LONGEST
    clock.now += LONGEST
    assert crowded.seconds_to_turn() == pytest.approx(FIRST_GUESS)
