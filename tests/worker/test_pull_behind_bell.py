"""An idle worker has its next pull wait behind the bell, and withdraws it as soon as it may claim nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from holdfast.core.delivery import Hint, Pulled, SendPull, Settle, Settlement, Standing
from holdfast.core.pull_protocol import Lease
from holdfast.core.worker_records import WorkerKind
from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.worker.context import StoreRetries, WorkerContext, WorkerSpec, lease_clock
from holdfast.worker.pull import HintListener, Puller
from holdfast_config import Settings
from tests.handler.deliveries import delivery_of

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class BellStore:
    """`behind`: the numbers of the pulls that were sent behind a bell; `asked`: number, slots and settlements of each
    other one. `ended`: waits that their worker has ended itself. `told`: after how many pulls each new connection was
    told of."""

    behind: list[int] = field(default_factory=list[int])
    asked: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    ended: int = 0
    told: list[int] = field(default_factory=list[int])
    answers: list[Pulled] = field(default_factory=list[Pulled])
    fires: anyio.Event = field(default_factory=anyio.Event)
    _asked: anyio.Event = field(default_factory=anyio.Event)
    _rung: anyio.Event = field(default_factory=anyio.Event)
    _answer: Pulled | StoreError | None = None

    async def listen(self, *_: object) -> None:
        await anyio.sleep_forever()

    async def listen_and_pull(
        self, _: str, __: object, ___: float, ____: object, offer: Callable[[SendPull | None], None]
    ) -> tuple[Hint, Pulled | None]:
        self._rung = anyio.Event()
        offer(self._send)
        try:
            await self._rung.wait()
        except BaseException:
            self.ended += 1
            raise
        finally:
            offer(None)
        if isinstance(self._answer, StoreError):
            raise self._answer
        return Hint("bell"), self._answer

    async def pull(
        self, _: str, number: int, slots: int, __: object, settlements: tuple[Settlement, ...], *___: object
    ) -> Pulled:
        self.asked.append((number, slots, len(settlements)))
        self._asked.set()
        return self.answers.pop(0) if self.answers else Pulled(Standing.OK, ("OK",) * len(settlements))  # type: ignore[arg-type]

    async def reconnected(self, _: str) -> None:
        self.told.append(len(self.behind) + len(self.asked))

    async def schedule(self, _: str) -> None:
        await self.fires.wait()

    async def asks(self, times: int) -> None:
        while len(self.asked) < times:
            self._asked = anyio.Event()
            await self._asked.wait()

    def ring(self, answer: Pulled | StoreError) -> None:
        self._answer = answer
        self._rung.set()

    def _send(self, number: int, slots: int) -> bool:
        self.behind.append(number)
        return True


@dataclass(slots=True)
class Bench:
    store: BellStore
    context: WorkerContext
    taken: list[tuple[str, bool]]

    async def rests(self) -> None:
        await anyio.wait_all_tasks_blocked()

    async def changes(self) -> None:
        self.context.state.changed.announce()
        await self.rests()


@asynccontextmanager
async def bench(*answers: Pulled, kind: WorkerKind = WorkerKind.WORKER, lease: float = 15.0) -> AsyncGenerator[Bench]:
    store, taken = BellStore(answers=list(answers)), list[tuple[str, bool]]()
    spec = WorkerSpec("i" * 32, 0, Settings(concurrency=5, lease=lease), kind=kind)
    context = WorkerContext(spec, store, retries=StoreRetries())  # type: ignore[arg-type]

    def take(deliveries: Any, *, wanted: bool = True) -> None:
        taken.extend((delivery.task_id, wanted) for delivery in deliveries)

    ahead: Any = SimpleNamespace(take=take, may_hold=lambda _: False, has_enough=lambda: False)
    puller = Puller(context, ahead)
    listener = HintListener(context, puller, ahead)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for part in (puller.serve, listener.serve, listener.pull_when_idle, listener.withdraw):
                group.start_soon(part)
            context.state.want_pull()
            scene = Bench(store, context, taken)
            await scene.rests()
            yield scene
            store.fires.set()
            group.cancel_scope.cancel()


CLAIMED = Pulled(Standing.OK, (), (delivery_of(task_id="a"),))


async def test_what_waits_behind_the_bell_brings_the_task() -> None:
    async with bench() as scene:
        assert (scene.store.behind, scene.store.asked) == ([2], [(1, 5, 0)])
        scene.store.ring(CLAIMED)
        await scene.rests()
        assert scene.taken == [("a", True)]
        assert (scene.store.behind, len(scene.store.asked)) == ([2], 1)  # it is busy: the next one does not wait


@pytest.mark.parametrize(
    "answer",
    [CLAIMED, Pulled(Standing.OK, backlog=1), Pulled(Standing.OK, inbox=1), Pulled(Standing.QUIET)],
    ids=["a task", "a backlog", "an inbox", "a quiet host"],
)
async def test_no_pull_waits_where_the_last_one_found_something(answer: Pulled) -> None:
    async with bench(answer) as scene:
        assert scene.store.behind == []


async def test_no_pull_waits_while_a_settlement_is_to_be_reported() -> None:
    async with bench(CLAIMED) as scene:
        exchange = scene.context.exchange
        exchange.finish("a", Settlement("a", exchange.held["a"].claim, Settle.COMPLETED))
        await scene.changes()
        assert scene.store.behind == []
        scene.context.state.want_pull()
        await scene.changes()
        assert (scene.store.asked[-1][2], scene.store.behind) == (1, [3])


async def test_no_pull_waits_of_a_worker_that_runs_something() -> None:
    async with bench(CLAIMED) as scene:
        scene.context.state.want_pull()
        await scene.changes()
        assert ([number for number, _, _ in scene.store.asked], scene.store.behind) == ([1, 2], [])


async def test_no_pull_waits_while_the_fires_of_what_goes_on_are_made() -> None:
    async with bench(Pulled(Standing.FIRES, fires=("j",))) as scene:
        await scene.changes()
        assert scene.store.behind == []
        scene.store.fires.set()
        await scene.rests()
        assert scene.store.behind == [3]


@pytest.mark.parametrize("kind", [kind for kind in WorkerKind if kind is not WorkerKind.WORKER])
async def test_only_a_worker_of_a_pool_has_a_pull_wait(kind: WorkerKind) -> None:
    async with bench(kind=kind) as scene:
        assert scene.store.behind == []


@pytest.mark.parametrize("why", ["drain", "lease", "not ready"])
async def test_it_is_withdrawn_as_soon_as_nothing_may_be_claimed(why: str) -> None:
    async with bench() as scene:
        state = scene.context.state
        scene.store.answers.append(Pulled(Standing.REPLAY, (), CLAIMED.deliveries))
        match why:
            case "drain":
                state.is_draining = True
            case "lease":
                state.lease = Lease(state.lease.seconds, lease_clock() - state.lease.seconds)
            case _:
                state.is_ready = False
        await scene.changes()
        assert scene.store.ended == 1
        assert [number for number, _, _ in scene.store.asked] == [1, 2]  # the number of the one that has waited
        assert scene.context.exchange.waiting is None
        assert (scene.store.asked[-1][1], scene.taken) == (0, [("a", False)])


async def test_it_is_withdrawn_at_the_end_of_a_lease_of_which_nothing_tells() -> None:
    async with bench(lease=2.0) as scene:
        await scene.store.asks(2)
        assert (scene.store.ended, scene.store.asked[1][:2]) == (1, (2, 0))


async def test_what_was_asked_again_meanwhile_is_not_taken_twice() -> None:
    async with bench() as scene:
        scene.store.answers.append(CLAIMED)
        scene.context.state.want_pull()
        await scene.changes()
        assert scene.store.asked[-1][0] == 2
        exchange = scene.context.exchange
        exchange.finish("a", Settlement("a", exchange.held["a"].claim, Settle.COMPLETED))
        scene.context.state.want_pull()
        await scene.changes()
        scene.store.ring(Pulled(Standing.REPLAY, (), CLAIMED.deliveries))
        await scene.rests()
        assert scene.taken == [("a", True)]


async def test_what_may_have_claimed_something_unheard_is_asked_again() -> None:
    async with bench() as scene:
        scene.store.ring(StoreUnavailableError("cut"))
        await scene.rests()
        assert [number for number, _, _ in scene.store.asked] == [1, 2]
        assert scene.store.told == [2]  # behind the first pull and the one that waited, before the next


async def test_nothing_waits_behind_a_bell_over_a_connection_that_the_store_was_not_told_of() -> None:
    """It may be an earlier moment of the store: a pull that tells comes first."""
    async with bench() as scene:
        scene.context.retries.is_cut = True
        scene.store.ring(Pulled(Standing.OK))
        await scene.rests()
        assert (scene.store.behind, scene.store.told) == ([2], [])
        scene.context.state.want_pull()
        await scene.rests()
        assert scene.store.told == [2]
        assert len(scene.store.behind) == 2
