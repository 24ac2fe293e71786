"""Tasks that are claimed and not begun: they begin in order as places become free, or go back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from holdfast.core.delivery import Pulled, Settle, Standing, Verdict
from holdfast.core.pull_protocol import ENDED, Lease, Request
from holdfast.core.recycle import RecycleLimits
from holdfast.core.worker_records import WorkerKind
from holdfast.handler.task import Task
from holdfast.ipc.channel import Drain
from holdfast.store.memory import MemoryStore
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, WorkerSpec, lease_clock
from holdfast.worker.pull import Puller
from holdfast.worker.state import claims_ahead
from holdfast.worker.worker import WorkerDrain
from holdfast_config import Settings
from tests.handler.deliveries import delivery_of, task_runner_of

pytestmark = pytest.mark.anyio

PATIENCE = 20.0  # seconds


@dataclass
class Stage:
    """A worker that runs two tasks at once; each runs until it is let go."""

    context: WorkerContext
    ahead: ClaimsAhead
    begun: list[str] = field(default_factory=list[str])
    doors: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])

    def take(self, *task_ids: str, **fields: Any) -> None:
        """Take the answer of a pull."""
        exchange = self.context.exchange
        request = exchange.next_request()
        claim = f"1:i:{request.number}"
        deliveries = tuple(delivery_of(task_id=each, claim=claim, **fields) for each in task_ids)
        self.ahead.take(exchange.answer(request, Pulled(Standing.OK, (), deliveries)))

    async def runs(self, *task_ids: str) -> None:
        """Wait until exactly these have begun, in this order."""
        with anyio.fail_after(PATIENCE):
            while len(self.begun) < len(task_ids):
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert self.begun == list(task_ids)

    async def end(self, task_id: str) -> None:
        self.doors[task_id].set()
        await anyio.wait_all_tasks_blocked()
        await anyio.lowlevel.checkpoint()  # its place is filled in the next turn of the loop
        await anyio.wait_all_tasks_blocked()

    @property
    def waiting(self) -> list[str]:
        return list(self.context.state.ahead)

    @property
    def reports(self) -> list[tuple[str, Settle]]:
        return [(one.task_id, one.kind) for one in self.context.exchange.next_request(0).settlements]


@asynccontextmanager
async def stage(kind: WorkerKind = WorkerKind.WORKER) -> AsyncIterator[Stage]:
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings(concurrency=2), kind), MemoryStore("q"))

    async def handle(task: Task) -> None:
        scene.begun.append(task.id)
        await scene.doors.setdefault(task.id, anyio.Event()).wait()

    running = task_runner_of(context, handle)
    scene = Stage(context, ClaimsAhead(context, running))
    async with anyio.create_task_group() as life:
        life.start_soon(running.serve)
        await anyio.wait_all_tasks_blocked()
        yield scene
        life.cancel_scope.cancel()


async def test_so_many_run_as_may_and_the_others_follow_in_order() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d")
        await scene.runs("a", "b")
        assert scene.waiting == ["c", "d"]
        await scene.end("b")
        await scene.runs("a", "b", "c")
        await scene.end("a")
        await scene.runs("a", "b", "c", "d")


async def test_what_is_given_back_is_not_begun_and_goes_back_in_order() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d")
        await scene.runs("a", "b")
        scene.ahead.give_back("drain")
        assert scene.waiting == []
        assert scene.reports == [("d", Settle.RETURNED), ("c", Settle.RETURNED)]
        await scene.end("a")
        await scene.runs("a", "b")


async def test_what_has_begun_goes_back_before_what_was_claimed_behind_it() -> None:
    """Each goes to the head of the lane: the first claimed last."""
    async with stage() as scene:
        scene.take("a", "b", "c")
        await scene.runs("a", "b")
        scene.ahead.give_back("drain")
        scene.ahead.runner.tasks.stop_all("drain")
        await anyio.wait_all_tasks_blocked()
        assert scene.reports == [("c", Settle.RETURNED), ("b", Settle.RELEASE), ("a", Settle.RELEASE)]


@pytest.mark.parametrize(("why", "reports"), [("cancel", []), ("lost", []), ("pause", [("c", Settle.RETURNED)])])
async def test_what_is_stopped_before_it_begins_never_begins(why: str, reports: list[tuple[str, Settle]]) -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d")
        await scene.runs("a", "b")
        scene.ahead.stop("c", "another claim", why)
        assert scene.waiting == ["c", "d"]
        scene.ahead.stop("c", "1:i:1", why)
        assert scene.waiting == ["d"]
        assert scene.reports == reports
        await scene.end("a")
        await scene.runs("a", "b", "d")


async def test_nothing_is_begun_past_the_end_of_the_lease() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c")
        await scene.runs("a", "b")
        scene.context.state.lease = Lease(15.0, lease_clock() - 16.0)
        await scene.end("a")
        await scene.runs("a", "b")
        assert scene.waiting == ["c"]
        scene.context.state.lease = Lease(15.0, lease_clock())
        scene.ahead.begin_next(lease_clock())
        await scene.runs("a", "b", "c")


async def test_what_waits_behind_a_long_task_goes_back() -> None:
    async with stage() as scene, anyio.create_task_group() as watch:
        watch.start_soon(scene.ahead.watch_long)
        await anyio.wait_all_tasks_blocked()
        scene.take("a", "b", "c", "d")
        scene.context.state.changed.announce()
        await scene.runs("a", "b")
        with anyio.fail_after(PATIENCE):
            await scene.context.state.changed.until(lambda: scene.context.state.pull_wanted)
        assert scene.reports == [("d", Settle.RETURNED), ("c", Settle.RETURNED)]
        assert not scene.ahead.may_hold(lease_clock())
        watch.cancel_scope.cancel()


FORBIDDEN: list[dict[str, Any]] = [{"is_draining": True}, {"is_quiet": True}, {"is_ready": False}]


@pytest.mark.parametrize("fields", FORBIDDEN, ids=str)
async def test_a_worker_that_claims_nothing_holds_nothing_ahead(fields: dict[str, Any]) -> None:
    async with stage() as scene:
        for name, value in fields.items():
            setattr(scene.context.state, name, value)
        scene.take("a", "b", "c")
        assert scene.waiting == []
        assert scene.reports == [("c", Settle.RETURNED)]


async def test_nothing_waits_behind_a_task_of_a_schedule() -> None:
    """The next step of its schedule comes before the next claim."""
    async with stage() as scene:
        assert scene.ahead.may_hold(lease_clock())
        scene.take("nightly@2026-11-23T00:00:00Z", "b", "c")
        assert not scene.ahead.may_hold(lease_clock())
        assert scene.waiting == []
        assert scene.reports == [("c", Settle.RETURNED)]


@pytest.mark.parametrize("kind", [WorkerKind.SINGLE, WorkerKind.QUARANTINE])
async def test_only_a_worker_of_a_pool_claims_ahead(kind: WorkerKind) -> None:
    async with stage(kind) as scene:
        assert not scene.ahead.may_hold(lease_clock())


async def test_another_turn_of_a_running_task_does_not_wait() -> None:
    """A store that has lost data gives an earlier one: it would be settled with the outcome of the turn that runs."""
    async with stage() as scene:
        scene.take("a", "b", "c", turn=2)
        await scene.runs("a", "b")
        scene.take("a")
        await scene.runs("a", "b", "a")
        assert scene.waiting == ["c"]


async def test_the_next_request_is_urgent_once_half_of_what_waited_has_begun() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d", "e", "f")
        await scene.runs("a", "b")
        assert scene.ahead.has_enough()  # four wait
        await scene.end("a")
        assert scene.ahead.has_enough()
        await scene.end("b")
        assert not scene.ahead.has_enough()


@asynccontextmanager
async def pulling(scene: Stage, report_within: float) -> AsyncIterator[list[list[str]]]:
    """A puller, and the ids that each of its requests reports."""
    sent = list[list[str]]()

    async def call(_: str, __: object) -> tuple[Request, Pulled]:
        request = scene.context.exchange.next_request(0)
        sent.append([one.task_id for one in request.settlements])
        return request, Pulled(Standing.OK, (Verdict.OK,) * len(request.settlements))

    scene.context.retries = cast("Any", SimpleNamespace(call=call, degraded=""))
    async with anyio.create_task_group() as group:
        group.start_soon(Puller(scene.context, scene.ahead, report_within=report_within).serve)
        await anyio.wait_all_tasks_blocked()
        yield sent
        group.cancel_scope.cancel()


async def test_outcomes_wait_for_others_while_enough_waits_to_begin() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d", "e", "f")
        await scene.runs("a", "b")
        async with pulling(scene, PATIENCE) as sent:
            await scene.end("a")
            assert sent == []  # three wait
            await scene.end("b")
            assert sent[0] == ["a", "b"]  # two wait, half of what came


async def test_no_outcome_waits_for_long() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d", "e", "f")
        await scene.runs("a", "b")
        async with pulling(scene, 0.001) as sent:
            await scene.end("a")
            with anyio.fail_after(PATIENCE):
                while not sent:
                    await anyio.lowlevel.checkpoint()
            assert sent[0] == ["a"]


async def test_what_is_given_back_is_reported_at_once() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c", "d", "e", "f")
        await scene.runs("a", "b")
        async with pulling(scene, PATIENCE) as sent:
            await scene.end("a")
            scene.ahead.give_back("drain")
            await anyio.wait_all_tasks_blocked()
            assert sent[0] == ["a", "f", "e", "d"]


async def test_it_asks_for_as_much_ahead_as_it_has_learnt_and_no_more_than_it_may_take() -> None:
    async with stage() as scene:
        state, now = scene.context.state, lease_clock()
        assert claims_ahead(state, 2, now) == 0
        state.durations.note(0.02)
        state.durations.estimate(ENDED)
        assert claims_ahead(state, 2, now) == 10  # 100 ms of work of two at a time
        scene.take("a", "b", "c")
        assert claims_ahead(state, 0, now) == 9
        state.is_apart = True
        assert claims_ahead(state, 0, now) == 0


async def test_a_worker_that_is_recycled_gives_back_what_it_has_not_begun_and_runs_no_more_than_it_may() -> None:
    async with stage() as scene:
        state, now = scene.context.state, lease_clock()
        state.limits = RecycleLimits(tasks=2, most_tasks=8)
        state.durations.note(0.02)
        state.durations.estimate(ENDED)
        scene.take("a", "b", "c", "d", "e")
        await scene.runs("a", "b")
        await scene.end("a")
        assert (state.recycle_reason, claims_ahead(state, 1, now)) == ("", 2)  # 8 without those held and the one done
        await scene.end("b")
        assert (state.recycle_reason, claims_ahead(state, 0, now)) == ("2 tasks", 3)  # it goes on for the time being
        await scene.runs("a", "b", "c", "d")
        WorkerDrain(scene.context, scene.ahead).begin(Drain(float("inf"), float("inf")))
        assert (scene.waiting, ("e", Settle.RETURNED) in scene.reports) == ([], True)
        await scene.end("c")
        await scene.end("d")
        assert scene.begun == ["a", "b", "c", "d"]
        assert (state.use.done, claims_ahead(state, 0, now)) == (4, 0)


async def test_the_slowest_task_that_has_ended_is_known() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c")
        await scene.runs("a", "b")
        begun = scene.ahead.runner.tasks.first_begun_at
        assert begun is not None
        await scene.end("a")
        assert 0 < scene.context.state.durations.slowest <= lease_clock() - begun


async def test_a_worker_that_was_declared_dead_reports_nothing_of_what_waits() -> None:
    async with stage() as scene:
        scene.take("a", "b", "c")
        await scene.runs("a", "b")
        scene.ahead.drop()
        assert (scene.waiting, scene.reports) == ([], [])


async def test_what_a_pull_behind_a_bell_has_claimed_of_a_worker_that_asks_for_nothing_now_goes_back() -> None:
    async with stage() as scene:
        exchange = scene.context.exchange
        exchange.request_behind_bell()
        request = exchange.next_request(0)
        deliveries = exchange.answer(request, Pulled(Standing.REPLAY, (), (delivery_of(task_id="a"),)))
        scene.ahead.take(deliveries, wanted=False)
        assert scene.reports == [("a", Settle.RETURNED)]
        await scene.runs()
