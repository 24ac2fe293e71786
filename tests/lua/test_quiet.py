"""Quiet hosts: they finish what they run, claim nothing, and stay so whatever starts anew, until they are resumed."""

from __future__ import annotations

import pytest

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.client.schedules import Schedules
from holdfast.core.delivery import Hint, Settle, Standing
from holdfast.core.quiet_hosts import ALL_HOSTS, HaltScope, Quiet, QuietOrder
from holdfast.core.worker_records import Introduction, WorkerKind
from tests.lua.namespace import Namespace, settlement
from tests.lua.operations import introduction
from tests.lua.test_suspects import suspect

pytestmark = pytest.mark.anyio


async def on_host(space: Namespace, incarnation: str, host: str) -> None:
    assert await space.store.register(Introduction(incarnation, host, "boot", 1, 0)) is Standing.OK


async def quiet(space: Namespace, host: str = ALL_HOSTS) -> QuietOrder:
    return await space.store.quiet_host(host, "op@desk", "the bank is closed")


async def resume(space: Namespace, host: str = ALL_HOSTS) -> QuietOrder:
    return await space.store.resume_host(host, "op@desk")


async def claimed(space: Namespace, incarnation: str, slots: int = 1) -> list[str]:
    return [delivery.task_id for delivery in await space.take(incarnation, slots)]


async def test_a_quiet_host_finishes_and_claims_nothing(space: Namespace) -> None:
    await on_host(space, "a", "one")
    await space.submit("t1", "t2")
    [held] = await space.take("a", 1)
    assert await quiet(space, "one") == QuietOrder(True, 1)
    pulled = await space.pull("a", 5, settlement(held, Settle.COMPLETED))
    assert (pulled.standing, pulled.verdicts, pulled.deliveries) == (Standing.QUIET, ("OK",), ())
    assert await resume(space, "one") == QuietOrder(True, 1)
    assert await claimed(space, "a") == ["t2"]
    await space.check()


async def test_others_work_on_beside_a_quiet_host(space: Namespace) -> None:
    await on_host(space, "a", "one")
    await on_host(space, "b", "two")
    await quiet(space, "one")
    await space.submit("t1")
    assert await claimed(space, "a") == []
    assert (await space.store.listen("b", [space.queue], 1.0)) == Hint("bell")
    assert await claimed(space, "b") == ["t1"]
    await space.check()


async def test_whoever_starts_anew_on_a_quiet_host_is_quiet(space: Namespace) -> None:
    await quiet(space, "one")
    await space.submit("t1", "t2")
    await on_host(space, "a", "one")
    await on_host(space, "b", "two")
    assert (await space.pull("a", 1)).standing is Standing.QUIET
    assert await claimed(space, "b") == ["t1"]
    await quiet(space)
    await on_host(space, "c", "three")
    assert (await space.pull("c", 1)).standing is Standing.QUIET
    await space.check()


async def test_what_all_were_told_and_what_one_was_told_are_taken_back_apart(space: Namespace) -> None:
    await on_host(space, "a", "one")
    await on_host(space, "b", "two")
    await quiet(space, "one")
    assert await quiet(space) == QuietOrder(True, 2)
    assert await resume(space, "one") == QuietOrder(True, 0)
    await space.submit("t1", "t2")
    assert await claimed(space, "a") == []
    await quiet(space, "one")
    await resume(space)
    assert await claimed(space, "a") == []
    assert await claimed(space, "b") == ["t1"]
    await space.check()


async def test_each_worker_is_told_once_to_look_again(space: Namespace) -> None:
    await on_host(space, "a", "one")
    for order in (quiet, quiet, resume, resume):
        await order(space)
    heard = [await space.store.listen("a", [], 0.01) for _ in range(3)]
    assert heard == [Hint("look"), Hint("look"), None]


async def test_a_renewal_tells_it_too(space: Namespace) -> None:
    await on_host(space, "a", "one")
    assert not (await space.store.renew("a", "live", 0, [])).quiet
    await quiet(space)
    assert (await space.store.renew("a", "live", 0, [])).quiet


async def test_it_is_known_who_is_quiet_since_when_and_why(space: Namespace) -> None:
    await space.register("a")
    since = await space.store.clock_ms()
    await quiet(space, "one")
    await space.advance(1000)
    assert await space.store.quiet_host("one", "b@desk", "a bad\ndisk") == QuietOrder(False, 0)
    await quiet(space)
    one, all_hosts = (
        Quiet("one", since, "b@desk", "a bad disk"),
        Quiet(ALL_HOSTS, since + 1000, "op@desk", "the bank is closed"),
    )
    assert await space.store.quiet_hosts() == (all_hosts, one)
    assert [worker.quiet for worker in await space.store.workers()] == [True]
    assert all_hosts.is_all
    assert not one.is_all
    assert await resume(space, "two") == QuietOrder(False, 0)
    assert await space.store.quiet_hosts() == (all_hosts, one)


async def test_a_quiet_quarantine_worker_claims_no_suspect(space: Namespace) -> None:
    await space.register("q", kind=WorkerKind.QUARANTINE)
    await suspect(space)
    await quiet(space, "host")
    assert await claimed(space, "q") == []
    await resume(space, "host")
    assert await claimed(space, "q") == ["s1"]
    await space.check()


async def test_an_answer_that_was_lost_is_given_again_on_a_quiet_host(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    first = await space.pull("a", request=1)
    await quiet(space)
    again = await space.pull("a", request=1)
    assert (again.standing, again.deliveries) == (Standing.REPLAY, first.deliveries)
    assert await space.store.register(introduction("a")) is Standing.OK
    assert (await space.pull("a", 2)).standing is Standing.QUIET


async def test_while_all_are_quiet_nothing_is_left_to_do(space: Namespace) -> None:
    await space.submit("t1")
    assert (await space.store.left([space.queue]))[0]
    await quiet(space)
    assert not (await space.store.left([space.queue]))[0]


async def test_what_comes_due_is_submitted_and_waits(space: Namespace) -> None:
    await space.register("a")
    await quiet(space)
    await space.submit("t1", delay_ms=1000)
    await space.advance(1000)
    assert (await space.store.promote(10))[0] == 1
    assert await claimed(space, "a") == []
    assert len(await space.entries()) == 1
    await space.check()


async def halt(space: Namespace, host: str = ALL_HOSTS) -> int:
    """The number of this halt."""
    await space.store.halt_host(host, "op@desk", "the bank is closed")
    return (await space.store.quiet_hosts())[-1].since_ms


async def started(space: Namespace, incarnation: str, host: str, seen: int | None) -> None:
    """A process; `seen`: the last halt at its start, if it ends at halts."""
    assert await space.store.register(Introduction(incarnation, host, "boot", 1, 0, halt=seen)) is Standing.OK


async def test_a_halt_and_quiet_are_taken_back_apart(space: Namespace) -> None:
    await on_host(space, "a", "one")
    await quiet(space)
    number = await halt(space)
    await space.submit("t1")
    assert await resume(space) == QuietOrder(True, 0)
    assert (await space.pull("a", 1)).standing is Standing.QUIET
    assert await space.store.quiet_hosts() == (Quiet(ALL_HOSTS, number, "op@desk", "the bank is closed", is_halt=True),)
    assert await space.store.end_halt(ALL_HOSTS, "op@desk") == QuietOrder(True, 1)
    assert await space.store.end_halt(ALL_HOSTS, "op@desk") == QuietOrder(False, 1)
    assert await claimed(space, "a") == ["t1"]
    await space.check()


async def test_a_halt_does_not_count_for_what_was_started_in_spite_of_it(space: Namespace) -> None:
    await started(space, "before", "one", 0)
    number = await halt(space, "one")
    assert await space.store.last_halt("one") == number
    await started(space, "since", "one", number)
    await started(space, "pool", "one", None)
    await space.submit("t1", "t2")
    assert [await claimed(space, name) for name in ("before", "pool", "since")] == [[], [], ["t1"]]
    await space.check()
    assert await halt(space, "one") > number  # in the same millisecond
    assert await claimed(space, "since") == []
    await space.check()


async def test_the_number_of_a_halt_is_higher_than_that_of_any_before(space: Namespace) -> None:
    of_one = [await halt(space, "one"), await halt(space, "one")]
    await space.store.end_halt("one", "op@desk")
    assert await space.store.last_halt("one") == of_one[-1]  # a process that did not hear of it ends all the same
    assert await space.store.last_halt("two") == 0
    await space.advance(-60_000)  # the clock of another server
    numbers = [*of_one, await halt(space), await halt(space, "one")]
    assert numbers == sorted(set(numbers))
    assert await space.store.last_halt("two") == numbers[2]


@pytest.mark.parametrize(("host", "by"), [("", "op"), (" ", "op"), ("*", " ")])
async def test_a_halt_that_names_nobody_is_refused(space: Namespace, host: str, by: str) -> None:
    with pytest.raises(ValueError, match="neither may be empty"):
        await space.store.halt_host(host, by, "why")
    assert await space.store.quiet_hosts() == ()


async def test_while_all_are_halted_a_burst_has_nothing_left_to_do(space: Namespace) -> None:
    await space.submit("t1")
    await halt(space)
    assert not (await space.store.left([space.queue]))[0]


async def test_a_halted_steward_makes_no_fires_and_others_do(space: Namespace) -> None:
    schedules = Schedules(space.store, space.queue)
    await schedules.upsert("j", schedule="CONTINUE", text="x")
    number = await halt(space, "one")
    halted, spite, other = HaltScope("one"), HaltScope("one", number), HaltScope("two")
    assert (await space.store.due_schedules(10, halted)).halted
    due = await space.store.due_schedules(10, spite)
    firing = ScheduleFirer(space.store, space.queue, 10_000)
    orders = [one for record in due.records if (one := firing.order(record, due.now))]
    assert await space.store.fire(orders, halted) == ["halted"]
    assert await space.entries() == []
    assert await space.store.fire(orders, other) == ["fired"]
    assert len(await space.entries()) == 1
    await space.check()
