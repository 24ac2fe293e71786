"""Hosts of two versions side by side.

The earlier one reserves suspects from `solo`, and hosts stop while some wait. It runs a turn by its last message alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from holdfast.core.delivery import Delivery, Settle
from holdfast.core.served import ServedLane, ServedWork
from holdfast.core.tasks import Accepted, WorkerKind
from tests.lua.earlier import SCRIPTS
from tests.lua.messages import message_of
from tests.lua.namespace import Namespace, namespace, settlement
from tests.lua.operations import introduction

pytestmark = pytest.mark.anyio

SUSPECTS = ("s1", "s2", "s3", "s4")


@dataclass(slots=True)
class Host:
    """A host with one worker for suspects; `ran`: those that it has completed."""

    space: Namespace
    name: str
    kind: WorkerKind = WorkerKind.QUARANTINE
    held: list[Delivery] = field(default_factory=list[Delivery])
    ran: list[str] = field(default_factory=list[str])

    async def start(self) -> None:
        await self.space.register(self.name, kind=self.kind)
        await self.go_on()

    async def go_on(self) -> None:
        """Complete what runs, and start what is next."""
        self.ran += [held.task_id for held in self.held]
        done = [settlement(held, Settle.COMPLETED) for held in self.held]
        if self.kind is WorkerKind.QUARANTINE:
            await self.space.store.suspects([self.space.queue])
        self.held = await self.space.take(self.name, 1, *done)

    async def stop(self) -> None:
        for held in self.held:
            assert await self.space.settle(self.name, held, Settle.RELEASE) == "OK"
        await self.space.crash(self.name, charged=False, ordered=True)


@pytest.fixture
async def space(server_url: str) -> AsyncIterator[Namespace]:
    async with namespace(server_url) as made:
        yield made


@asynccontextmanager
async def version_before(space: Namespace) -> AsyncIterator[Namespace]:
    """The same namespace, as the earlier version knows it."""
    old = Namespace(space.url, SCRIPTS, space.queue)
    old.clock = space.clock
    try:
        yield old
    finally:
        await old.aclose()


@pytest.fixture
async def earlier(space: Namespace) -> AsyncIterator[Host]:
    """A host of the earlier version, which runs a suspect; others wait."""
    async with version_before(space) as old:
        await old.submit(*SUSPECTS)
        for life in range(2 * len(SUSPECTS)):
            await old.register(f"x{life}")
            assert len(await old.take(f"x{life}", 1)) == 1
            await old.crash(f"x{life}")
        await space.advance(5_000)
        host = Host(old, "old", WorkerKind.WORKER)
        await host.start()
        yield host


async def interrupted(space: Namespace) -> Delivery:
    await space.register("a")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.settle("a", first, Settle.SUSPENDED)
    return first


async def runs_each_alone(old: Namespace, first: Delivery) -> None:
    """The worker `x` runs the interrupted turn as it was, then one for `m2`."""
    [again] = await old.take("x")
    assert (message_of(again.operation.decode()), again.turn, again.history) == ("m-t1", 1, ())
    assert await old.settle("x", again, Settle.COMPLETED, result=b'"one"') == "OK"
    [second] = await old.take("x")
    assert (message_of(second.operation.decode()), second.history) == ("m2", (first.operation, b'"one"'))


async def test_messages_join_no_turn_that_a_worker_of_an_earlier_version_may_run(space: Namespace) -> None:
    async with version_before(space) as old:
        await old.register("x")
        first = await interrupted(space)
        assert await space.message("t1", "m2") is Accepted.TURN
        await runs_each_alone(old, first)
        await space.check()


async def test_a_message_that_overtakes_a_pause_does_not_join_there_either(space: Namespace) -> None:
    async with version_before(space) as old:
        await old.register("x")
        await space.register("a")
        await space.submit("t1")
        [first] = await space.take("a")
        await space.store.pause("t1", "wait")
        await space.message("t1", "m2")
        await space.settle("a", first, Settle.SUSPENDED)
        await runs_each_alone(old, first)
        await space.check()


@pytest.mark.parametrize("why", ["it has ended", "another lane", "another handler"])
async def test_messages_join_where_no_worker_of_an_earlier_version_may_claim_the_task(
    space: Namespace, why: str
) -> None:
    lane, names = ("elsewhere", None) if why == "another lane" else (space.queue, frozenset({"mail.send"}))
    async with version_before(space) as old:
        await old.store.register(replace(introduction("x"), service=ServedWork((ServedLane(lane),), names)))
        first = await interrupted(space)
        if why == "it has ended":
            await old.crash("x")
        await space.message("t1", "m2")
        [together] = await space.take("a")
        assert together.history == (first.operation, b"")
        await space.check()


async def solo(space: Namespace) -> list[bytes]:
    found: list[bytes] = await space.do("ZRANGE", space.key("solo"), 0, -1)
    return found


@pytest.mark.parametrize("first", ["the earlier", "the later"])
async def test_suspects_run_once_each_though_the_host_of_either_version_stops_and_then_the_other(
    space: Namespace, earlier: Host, first: str
) -> None:
    assert [held.task_id for held in earlier.held] == ["s1"]
    assert await solo(space) == [b"s2", b"s3", b"s4"]
    later = Host(space, "later")
    await later.start()
    assert [held.task_id for held in later.held] == ["s2"]
    hosts = [earlier, later] if first == "the earlier" else [later, earlier]
    await hosts[0].stop()
    for task_id in (hosts[0].held[0].task_id, "s3"):
        await hosts[1].go_on()
        assert [held.task_id for held in hosts[1].held] == [task_id]
    await hosts[1].stop()
    last = Host(space, "last")
    await last.start()
    while last.held:
        await space.check()
        await last.go_on()
    assert sorted(earlier.ran + later.ran + last.ran) == list(SUSPECTS)
    assert [(await space.task(name)).state for name in SUSPECTS] == ["completed"] * len(SUSPECTS)
    assert await solo(space) == []
    await space.check()
