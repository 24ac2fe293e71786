"""A task whose record somebody has damaged is its own trouble: others are promoted, put back, trimmed and recovered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.client.schedules import Schedules
from holdfast.core.acceptance import Accepted, SubmitOptions
from holdfast.core.delivery import EmittedBatch, EmitVerdict, Settle, Verdict
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.worker_records import ServedLane, ServedWork, WorkerKind
from holdfast.errors import StoreError, UnreadableRecordError
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfast_config.settings import MEMORY
from tests.lua.namespace import Namespace, settlement
from tests.lua.operations import LARGE, admission, control, introduction, resuming, run, submission
from tests.lua.test_suspects import die_together, end_in_quarantine, suspect

pytestmark = pytest.mark.anyio

Damage = Callable[[Namespace, str], Awaitable[None]]


async def other(space: Namespace, task_id: str) -> None:
    await space.do("DEL", space.key(f"task:{task_id}"))
    await space.do("SET", space.key(f"task:{task_id}"), "no hash")


async def half(space: Namespace, task_id: str) -> None:
    await space.do("HDEL", space.key(f"task:{task_id}"), "lane", "seq", "turn")


async def mute(space: Namespace, task_id: str) -> None:
    await space.do("DEL", space.key(f"op:{task_id}"))


async def homeless(space: Namespace, task_id: str) -> None:
    await space.do("HDEL", space.key(f"task:{task_id}"), "lane")


async def unnumbered(space: Namespace, task_id: str) -> None:
    await space.do("HDEL", space.key(f"task:{task_id}"), "seq")


async def turnless(space: Namespace, task_id: str) -> None:
    await space.do("HDEL", space.key(f"task:{task_id}"), "turn")


async def of_no_turn(space: Namespace, task_id: str) -> None:
    await space.do("HSET", space.key(f"task:{task_id}"), "turn", "first")


async def overwritten(space: Namespace, task_id: str) -> None:
    await space.do("HSET", space.key(f"task:{task_id}"), "seq", "x", "delivery", "many", "expires", "never")


async def undated(space: Namespace, task_id: str) -> None:
    await space.do("HSET", space.key(f"task:{task_id}"), "created", "today")


async def unqueued(space: Namespace, task_id: str) -> None:
    await space.do("HSET", space.key(f"task:{task_id}"), "queued", "today")


async def listed(space: Namespace, task_id: str) -> None:
    await space.do("DEL", space.key(f"op:{task_id}"))
    await space.do("RPUSH", space.key(f"op:{task_id}"), "no text")


DAMAGES = [other, half, mute, homeless, unnumbered, turnless, of_no_turn, overwritten, undated, unqueued, listed]


async def require_reasons(space: Namespace) -> None:
    """Each was looked at before anything was done with it: its reason is none that an error gave."""
    told = [
        reason
        for reason in await space.reasons()
        if re.search("attempt to|bad argument|WRONGTYPE|ERR |must be", reason)
    ]
    assert told == []


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_promoted(space: Namespace, damage: Damage) -> None:
    await space.submit("bad", "good", delay_ms=1000)
    await damage(space, "bad")
    await space.advance(1000)
    assert (await space.store.promote(100))[0] == 2
    assert await space.store.promote(100) == (0, None)
    assert sum(b"good" in entry for entry in await space.entries()) == 1
    await require_reasons(space)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_put_back(space: Namespace, damage: Damage) -> None:
    await space.submit("bad", "good", "last")
    await space.do("LPOP", space.queue, 2)
    await damage(space, "bad")
    assert [await space.store.audit(space.queue, 100, "") for _ in range(3)] == [(0, ""), (1, ""), (0, "")]
    assert len(await space.entries()) == 2
    await require_reasons(space)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_trimmed(space: Namespace, damage: Damage) -> None:
    await space.register("a")
    await space.submit("bad", "good")
    for delivery in await space.take("a", 2):
        await space.settle("a", delivery, Settle.COMPLETED)
    await damage(space, "bad")
    await space.advance(1000)
    await space.store.trim(10, 100)
    assert not await space.do("EXISTS", space.key("task:good"), space.key("task:bad"))


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_recovered(space: Namespace, damage: Damage) -> None:
    await space.register("a")
    await space.submit("bad", "good")
    await space.take("a", 2)
    await damage(space, "bad")
    assert await space.crash("a") == 2
    await space.register("b")
    assert [delivery.task_id for delivery in await space.take("b", 2)] == ["good"]
    await require_reasons(space)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_cleared(space: Namespace, damage: Damage) -> None:
    """The tasks that died beside a suspect are cleared, and a damaged one among them stops no other."""
    await die_together(space, "a1", "bad", "good")
    await damage(space, "bad")
    await space.clock.advance(5_000)
    await space.store.promote(10)
    await end_in_quarantine(space, "a1")
    assert (await space.task("good")).crashes == 0
    await space.register("w")
    assert "good" in await ids(space)
    await require_reasons(space)


@pytest.mark.parametrize("place", ["suspects", "gate"])
async def test_a_cleared_lane_lets_go_of_a_record_that_was_deleted(space: Namespace, place: str) -> None:
    if place == "suspects":
        await suspect(space, "bad")
    else:
        await space.register("a")
        await space.submit("runs", "bad", concurrency_key="k")
        assert [delivery.task_id for delivery in await space.take("a")] == ["runs"]
    await space.do("DEL", space.key("task:bad"))
    assert await space.store.clear(space.queue, 10) == 1
    assert await space.store.clear(space.queue, 10) == 0


async def ids(space: Namespace, worker: str = "w", slots: int = 10) -> list[str]:
    return [delivery.task_id for delivery in await space.take(worker, slots)]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_claimed(space: Namespace, damage: Damage) -> None:
    """And it is set aside with the reason, except where nothing is left that is a task."""
    await space.register("w")
    await space.submit("bad", "good", "last")
    await damage(space, "bad")
    assert await ids(space) == ["good", "last"]
    assert await space.entries() == []
    assert all("the record of task bad cannot be read" in reason for reason in await space.reasons())
    assert len(await space.reasons()) == (damage is not other)
    await require_reasons(space)


async def test_one_that_is_whole_again_is_read_again(space: Namespace) -> None:
    await space.register("w")
    await space.submit("bad")
    await turnless(space, "bad")
    assert await ids(space) == []
    await space.do("HSET", space.key("task:bad"), "turn", 1)
    [aside] = await space.store.unreadable(10)
    assert await space.store.readmit(aside.address)
    assert await ids(space) == ["bad"]
    await space.check()


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_of_its_key_are_claimed(space: Namespace, damage: Damage) -> None:
    await space.register("w")
    await space.submit("first", "bad", "good", concurrency_key="k")
    [first] = await space.take("w")
    await damage(space, "bad")
    await space.settle("w", first, Settle.COMPLETED)
    assert await ids(space) == ["good"]
    await require_reasons(space)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_of_its_handler_are_claimed(space: Namespace, damage: Damage) -> None:
    known, new = (ServedWork((ServedLane(space.queue),), frozenset({name})) for name in ("known", "new"))
    await space.store.register(replace(introduction("v"), service=known))
    await space.submit("bad", "good", name="new")
    assert await ids(space, "v") == []
    await damage(space, "bad")
    await space.store.register(replace(introduction("w"), service=new))
    assert await ids(space) == ["good"]
    await require_reasons(space)


async def suspects(space: Namespace, *task_ids: str) -> None:
    """Tasks that have ended two workers together and are due again."""
    await space.submit(*task_ids)
    for name in ("x", "y"):
        await space.register(name)
        assert await ids(space, name) == list(task_ids)
        await space.crash(name)
    await space.advance(5000)
    await space.store.promote(100)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_other_suspects_are_claimed(space: Namespace, damage: Damage) -> None:
    await suspects(space, "bad", "good")
    await damage(space, "bad")
    await space.register("w", kind=WorkerKind.QUARANTINE)
    assert await ids(space) == ["good"]
    await space.crash("w", charged=False, ordered=True)
    await space.register("v", kind=WorkerKind.QUARANTINE)
    assert await ids(space, "v") == ["good"]
    assert len(await space.reasons()) <= 1
    await require_reasons(space)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("said", ["run", "resume", "cancel", "pause", "large"])
async def test_what_is_pushed_for_it_keeps_no_other_back(space: Namespace, damage: Damage, said: str) -> None:
    """It is set aside."""
    await space.submit("bad")
    await damage(space, "bad")
    await space.do("DEL", space.queue)
    await space.register("w")
    raw = {"run": run("bad", "m2"), "resume": resuming("bad", "m2"), "large": run("bad", "m2", text="x" * LARGE)}
    await space.push(raw.get(said) or control(said, "bad"), run("good"))
    found = await ids(space)
    if head := await space.store.inbox("w"):
        assert await space.store.admit("w", admission(head[1])) == "set-aside"
        found = await ids(space)
    assert found == ["good"]
    assert ["the record of task bad cannot be read" in reason for reason in await space.reasons()] == [True]


@pytest.mark.parametrize("damage", [other, half, mute])
@pytest.mark.parametrize("kind", list(Settle))
async def test_others_are_settled_and_claimed(space: Namespace, damage: Damage, kind: Settle) -> None:
    await space.register("w")
    await space.submit("bad", "good", "last")
    bad, good = await space.take("w", 2)
    await space.message("bad", "waits")
    await damage(space, "bad")
    pulled = await space.pull("w", 1, settlement(bad, kind), settlement(good, Settle.COMPLETED))
    assert pulled.verdicts[1] == "OK"
    assert await space.state("good") == "completed"
    assert [delivery.task_id for delivery in pulled.deliveries] == ["last"]
    await require_reasons(space)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_lost_answer_is_given_again_without_it(space: Namespace, damage: Damage) -> None:
    await space.register("w")
    await space.submit("bad", "good")
    await space.pull("w", 2, request=1)
    await damage(space, "bad")
    assert [delivery.task_id for delivery in (await space.pull("w", 2, request=1)).deliveries] == ["good"]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_renewed(space: Namespace, damage: Damage) -> None:
    """And what the worker does not hold goes back."""
    await space.register("w")
    await space.submit("bad", "good", concurrency_key="")
    await space.take("w", 2)
    await damage(space, "bad")
    assert (await space.store.renew("w", "live", 1, [])).returned >= 1
    await space.register("v")
    assert "good" in await ids(space, "v")
    await require_reasons(space)


@pytest.mark.parametrize("damage", [("SET", "no list"), ("RPUSH", "no batch")])
async def test_parts_are_added_to_no_other_key(space: Namespace, damage: tuple[str, str]) -> None:
    verb, text = damage
    await space.register("a")
    await space.submit("bad", "good")
    bad, good = await space.take("a", 2)
    await space.do(verb, space.key("parts:bad"), text)
    batches = [EmittedBatch(each.task_id, each.claim, each.run, 1, 1, b"[1]") for each in (bad, good)]
    assert await space.store.emit(batches) == [EmitVerdict.DAMAGED, EmitVerdict.OK]
    bad_page, good_page = [await space.store.emitted_parts(task_id, 0) for task_id in ("bad", "good")]
    assert (bad_page.state, bad_page.parts, len(good_page.parts)) == ("working", (), 1)


@pytest.mark.parametrize("lost", ["digest", "message"])
async def test_a_task_with_a_name_that_has_lost_what_it_was_submitted_with_is_not_claimed(
    space: Namespace, lost: str
) -> None:
    """Its record has as many fields as one of a task without a name."""
    await space.register("a")
    await space.store.submit([submission("bad", space.queue, name="alpha"), submission("good", space.queue)])
    await space.do("HDEL", space.key("task:bad"), lost)
    assert [one.task_id for one in await space.take("a", 2)] == ["good"]


async def test_what_nobody_can_read_on_the_agenda_is_set_aside_once(space: Namespace) -> None:
    await space.submit("good", delay_ms=10)
    await space.store.submit_with_options([submission("t1", space.queue, options=SubmitOptions(expires_in_ms=10))])
    await space.do("ZADD", space.key("agenda"), 0, "nonsense", 0, "what|ever")
    await space.advance(10)
    for _ in range(2):
        await space.store.promote(100)
    assert (await space.state("good"), await space.state("t1")) == ("submitted", "canceled")
    assert len(await space.reasons()) == 2
    assert all("an item of the agenda cannot be read" in reason for reason in await space.reasons())


@pytest.mark.parametrize("damage", [homeless, overwritten])
async def test_one_that_expires_is_set_aside_once_and_expires_when_it_is_whole_again(
    space: Namespace, damage: Damage
) -> None:
    soon = SubmitOptions(expires_in_ms=10)
    for task_id in ("bad", "good"):
        await space.store.submit_with_options([submission(task_id, space.queue, options=soon)])
    record = await space.do("HMGET", space.key("task:bad"), "lane", "seq", "delivery", "expires")
    await damage(space, "bad")
    await space.advance(10)
    await space.register("w")
    for _ in range(2):
        await space.store.promote(100)
        assert await ids(space) == []
    assert await space.state("good") == "canceled"
    [aside] = await space.store.unreadable(10)
    lane, seq, delivery, expires = record
    await space.do(
        "HSET", space.key("task:bad"), "lane", lane, "seq", seq, "delivery", delivery or 0, "expires", expires
    )
    await space.store.readmit(aside.address)
    await space.store.promote(100)
    assert await space.state("bad") == "canceled"


async def test_one_that_was_due_is_submitted_when_it_is_whole_again(space: Namespace) -> None:
    await space.submit("bad", delay_ms=10)
    await homeless(space, "bad")
    await space.advance(10)
    for _ in range(2):
        await space.store.promote(100)
    [aside] = await space.store.unreadable(10)
    await space.do("HSET", space.key("task:bad"), "lane", space.queue)
    await space.store.readmit(aside.address)
    await space.store.promote(100)
    assert await space.state("bad") == "submitted"
    await space.register("w")
    assert await ids(space) == ["bad"]
    await space.check()


@pytest.mark.parametrize("recoveries", ["x", "1e5", "-1"])
async def test_recoveries_that_are_no_number_keep_no_other_task_of_a_dead_worker(
    space: Namespace, recoveries: str
) -> None:
    await space.register("a")
    await space.submit("first", "bad", "last", concurrency_key="")
    assert len(await space.take("a", 3)) == 3
    await space.do("HSET", space.key("task:bad"), "recoveries", recoveries)
    await space.crash("a")
    for _ in range(2):
        await space.put_strays_back(0)
    assert [await space.state(task_id) for task_id in ("first", "last")] == ["submitted"] * 2
    assert await space.reasons() == ["the record of task bad cannot be read: recoveries is no count"]


async def test_the_permits_of_a_damaged_task_go_to_others(space: Namespace) -> None:
    await space.register("a")
    await space.submit("bad", "good", concurrency_key="k")
    assert await ids(space, "a") == ["bad"]
    await half(space, "bad")
    await space.crash("a")
    await space.register("w")
    assert await ids(space) == ["good"]


async def test_a_permit_of_a_task_that_no_worker_holds_is_given_back(space: Namespace) -> None:
    """Though its record says that it works, and no longer by which key."""
    await space.register("a")
    await space.submit("bad", "good", concurrency_key="k")
    assert await ids(space, "a") == ["bad"]
    assert await ids(space, "a") == []
    await space.do("HDEL", space.key("task:bad"), "concurrency_key", "lane")
    await space.crash("a")
    await space.store.audit(space.queue, 100, "")
    await space.register("w")
    assert await ids(space) == ["good"]


@pytest.mark.parametrize("record", ["gone", "homeless", "another type"])
async def test_messages_of_a_task_that_has_ended_are_all_set_aside_once(space: Namespace, record: str) -> None:
    await space.submit("bad")
    for number in range(450):
        await space.message("bad", f"m{number}")
    await space.store.cancel("bad", "enough")
    spoil = {"gone": lambda: space.do("DEL", space.key("task:bad")), "homeless": lambda: homeless(space, "bad")}
    await spoil.get(record, lambda: other(space, "bad"))()
    await space.submit("good", delay_ms=1)
    await space.advance(1)
    for _ in range(3):
        await space.store.promote(100)
    assert await space.state("good") == "submitted"
    assert len(await space.reasons()) == 450
    assert not await space.do("EXISTS", space.key("left:bad"), space.key("leftover"))


async def test_a_message_that_is_none_stops_no_turn(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.do("RPUSH", space.key("pending:t1"), "nonsense")
    assert await space.message("t1", "m2") is Accepted.PENDING
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"
    assert [(one.task_id, one.run) for one in await space.take("a")] != []
    assert await space.reasons() == ["it waited for task t1 and is no message"]


@pytest.mark.parametrize("field", ["streak", "fires", "last", "limit", "backoff"])
async def test_a_damaged_schedule_keeps_no_settlement_back(space: Namespace, field: str) -> None:
    await space.register("a")
    await Schedules(space.store, space.queue).upsert("j", text="x", schedule="CONTINUE")
    await ScheduleFirer(space.store, space.queue, 1_000_000).round()
    await space.submit("good")
    held = await space.take("a", 2)
    assert len(held) == 2
    await space.do("HSET", space.key("schedule:j"), field, "x")
    pulled = await space.pull("a", 0, *(settlement(each, Settle.FAILED) for each in held))
    assert pulled.verdicts == ("OK", "OK")
    assert [(await space.task(each.task_id)).state for each in held] == ["failed", "failed"]


BOUNDS = {"rates": "rate:{}", "heads": "{}", "turns": "{}", "rules": "asked:limit:{}"}


@pytest.mark.parametrize("index", BOUNDS)
async def test_a_damaged_number_of_a_lane_stops_no_pull(space: Namespace, index: str) -> None:
    await space.store.bound([LaneLimit(LaneBound.RATE, space.queue, "100/1000/100")])
    await space.do("HSET", space.key(index), BOUNDS[index].format(space.queue), "x")
    await space.register("a")
    await space.submit("t1", "t2")
    lanes = [space.queue, "second"]
    pulled = await space.pull("a", lanes=lanes, weights=[2, 1])
    assert [each.task_id for each in pulled.deliveries] == ["t1", "t2"]


async def test_a_task_of_a_huge_turn_keeps_no_other_from_being_forgotten(space: Namespace) -> None:
    await space.submit("bad", "good")
    for task_id in ("bad", "good"):
        await space.store.cancel(task_id, "enough")
    await space.do("HSET", space.key("task:bad"), "turn", 999_999_999)
    await space.advance(1000)
    assert await space.store.trim(10, 100) == 2
    assert not await space.do("EXISTS", space.key("task:good"), space.key("task:bad"))


async def test_a_refusal_is_no_damage(space: Namespace) -> None:
    """A call ends where the server refuses a command. Nothing is set aside, and all goes on once it is allowed."""
    if space.url == MEMORY:
        return
    user = space.queue.replace(":", "-")
    await space.do("ACL", "SETUSER", user, "reset", "on", ">secret", "~*", "&*", "+@all", "-hset")
    url = f"unix://{user}:secret@{space.url.removeprefix('unix://')}"
    await space.submit("t1", delay_ms=1)
    await space.advance(1)
    async with aclosing(
        RedisStore(RedisSettings(url=url, queue=space.queue), space.store.connection._replaced)
    ) as store:
        with pytest.raises(StoreError, match=r"hset|HSET|run this command"):
            await store.promote(100)
    assert await space.reasons() == []
    await space.do("ACL", "DELUSER", user)
    await space.store.promote(100)
    assert await space.state("t1") == "submitted"


async def test_a_fire_that_the_server_refuses_is_made_when_it_is_allowed(space: Namespace) -> None:
    """It was not counted as made."""
    if space.url == MEMORY:
        return
    user = space.queue.replace(":", "-")
    await space.do("ACL", "SETUSER", user, "reset", "on", ">secret", "~*", "&*", "+@all", "-set")
    url = f"unix://{user}:secret@{space.url.removeprefix('unix://')}"
    await Schedules(space.store, space.queue).upsert("j", text="x", every=60)
    await space.advance(60_000)
    async with aclosing(
        RedisStore(RedisSettings(url=url, queue=space.queue), space.store.connection._replaced)
    ) as store:
        with pytest.raises(StoreError, match=r"set|SET|run this command"):
            await ScheduleFirer(store, space.queue, 1_000_000).round()
    await space.do("ACL", "DELUSER", user)
    await ScheduleFirer(space.store, space.queue, 1_000_000).round()
    assert len(await space.do("KEYS", f"{space.key('task:j')}*")) == 1


@pytest.mark.parametrize("order", ["cancel", "pause", "resume"])
async def test_an_order_for_a_damaged_task_names_the_damage(space: Namespace, order: str) -> None:
    await space.submit("bad")
    if order == "resume":
        await space.store.pause("bad", "wait")
    await homeless(space, "bad")
    with pytest.raises(UnreadableRecordError, match=r"the record of task 'bad' cannot be read: it has no field lane"):
        await getattr(space.store, order)("bad", "enough")
    assert len(await space.reasons()) == 1


@pytest.mark.parametrize("damaged", ["inf", "-1e999", "nan", "x", "9" * 400])
async def test_a_number_that_is_none_is_named_with_its_field(space: Namespace, damaged: str) -> None:
    await space.submit("bad")
    for field in (
        "turn",
        "created",
        "due",
        "finished",
        "delivery",
        "unbegun",
        "attempts",
        "crashes",
        "releases",
        "max_attempts",
        "expires",
    ):
        former = await space.do("HGET", space.key("task:bad"), field)
        await space.do("HSET", space.key("task:bad"), field, damaged)
        with pytest.raises(UnreadableRecordError, match=rf"its field {field} has the value '{damaged[:80]}'$"):
            await space.store.get("bad")
        await space.do("HSET", space.key("task:bad"), field, former or "")
    assert await space.store.get("bad")


async def test_a_cancel_that_fails_leaves_the_permits_of_its_task(space: Namespace) -> None:
    """Its worker still runs it."""
    await space.register("a")
    await space.submit("bad", concurrency_key="k")
    await space.take("a")
    await space.do("HDEL", space.key("task:bad"), "claim")
    with pytest.raises(UnreadableRecordError):
        await space.store.cancel("bad", "enough")
    assert await space.do("SMEMBERS", space.key("keyed:k")) in ([b"bad"], {b"bad"})


@pytest.mark.parametrize("bound", ["key", "lane"])
async def test_the_permits_of_a_damaged_task_are_free_when_it_has_run(space: Namespace, bound: str) -> None:
    """Not only at the next renewal."""
    if bound == "lane":
        await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.register("a")
    await space.submit("bad", "good", concurrency_key="k" if bound == "key" else "")
    [bad] = await space.take("a")
    await space.do("HSET", space.key("task:bad"), "delivery", "9" * 13)
    assert await space.settle("a", bad, Settle.COMPLETED) == Verdict.GONE
    assert [one.task_id for one in await space.take("a")] == ["good"]
