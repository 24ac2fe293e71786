"""A look at both ends of a lane: pushed orders are carried out, and entries that no task needs are removed."""

from __future__ import annotations

import json

import pytest

from holdfast.core.acceptance import Submission, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.store_info import Tended
from tests.lua.namespace import Namespace
from tests.lua.operations import control, flat, resume_with, run, submission
from tests.lua.test_damage_fuzz import MISSING, TASK_FIELDS, TASK_KEYS, Damage, damaged_field, damaged_key

pytestmark = pytest.mark.anyio

REST_MS = 500
ENTRIES = 64  # looked at from each end


async def tend(space: Namespace, *lanes: str) -> Tended:
    await space.advance(REST_MS)
    return await space.store.tend(lanes or (space.queue,))


async def length(space: Namespace, lane: str | None = None) -> int:
    """The length as Holdfast counts it, without stale entries; `entries` has the list itself."""
    [told] = [one.waiting for one in (await space.store.lanes([])).lanes if one.name == (lane or space.queue)]
    assert (await space.store.counts()).lanes[lane or space.queue] == told
    return told


async def states(space: Namespace, *task_ids: str) -> list[str]:
    return [await space.state(task_id) for task_id in task_ids]


async def busy(space: Namespace) -> None:
    """A worker whose only slot is full."""
    await space.register("a")
    await space.submit("long")
    await space.take("a", 1)


async def test_orders_are_heard_while_nobody_takes_entries(space: Namespace) -> None:
    await busy(space)
    await space.submit("t1", "t2", "t3")
    await space.store.pause("t3", "before")
    await space.push(
        control("cancel", "t1"), control("pause", "t2"), control("resume", "t3"), control("cancel", "long")
    )
    assert (await tend(space)).orders == 4
    assert await states(space, "t1", "t2", "t3", "long") == ["canceled", "suspended", "submitted", "canceled"]
    assert (await space.task("t1")).reason == "asked on the queue"
    hint = await space.store.listen("a", [], 1.0)
    assert hint is not None
    assert (hint.kind, hint.task_id) == ("cancel", "long")
    assert not [raw for raw in await space.entries() if not raw.startswith(b'{"_b"')]
    await space.check()


@pytest.mark.parametrize("push", ["LPUSH", "RPUSH"])
@pytest.mark.parametrize("end", ["head", "tail"])
async def test_orders_are_heard_at_both_ends_of_a_long_lane(space: Namespace, end: str, push: str) -> None:
    """Also of a lane that is served from its tail."""
    await space.store.bound([LaneLimit(LaneBound.END, space.queue, end)])
    await busy(space)
    await space.push(*[run(f"f{number}") for number in range(10 * ENTRIES)])
    await space.do(push, space.queue, control("cancel", "long"))
    before = await space.entries()
    assert (await tend(space)).orders == 1
    assert await space.state("long") == "canceled"
    assert await space.entries() == [raw for raw in before if b"cancel" not in raw]


async def test_an_order_in_the_middle_of_a_long_lane_waits(space: Namespace) -> None:
    await busy(space)
    runs = [run(f"f{number}") for number in range(ENTRIES)]
    await space.push(*runs, control("cancel", "long"), *runs)
    assert (await tend(space)).orders == 0
    await space.do("LPOP", space.queue)
    assert (await tend(space)).orders == 1


async def test_an_order_for_a_task_that_is_not_known_stays_where_it_is(space: Namespace) -> None:
    await space.register("a")
    entries = [run("f1"), control("cancel", "f1"), control("pause", "f2"), resume_with("f3"), b"\xff", b""]
    await space.push(*entries)
    assert await tend(space) == Tended(1, 0, 0)
    assert await space.entries() == entries
    assert not await space.reasons()
    assert not await space.do("EXISTS", space.key("cancels"))


async def test_a_run_keeps_the_orders_behind_it_back(space: Namespace) -> None:
    """A message for a task that is known: an order that came after it does not overtake it."""
    await busy(space)
    escaped = run("long", "m3").replace(b'"long"', b'"lo\\u006eg"')
    for before in (run("long", "m2"), flat("long", "m2"), escaped, run("long", "m4", text="x" * 40_000)):
        await space.push(before, control("cancel", "long"), control("pause", "long"))
        assert (await tend(space)).orders == 0
        assert len(await space.entries()) == 3
        await space.do("DEL", space.queue)
    await space.push(run("other", text=control("cancel", "long").decode()), control("cancel", "long"))
    assert (await tend(space)).orders == 1


async def test_a_lane_that_is_served_from_its_tail_is_read_from_there(space: Namespace) -> None:
    await space.store.bound([LaneLimit(LaneBound.END, space.queue, "tail")])
    await busy(space)
    await space.do("LPUSH", space.queue, run("long", "m2"), control("cancel", "long"))
    assert (await tend(space)).orders == 0
    await space.do("DEL", space.queue)
    await space.do("LPUSH", space.queue, control("cancel", "long"), run("long", "m2"))
    assert (await tend(space)).orders == 1
    assert await space.entries() == [run("long", "m2")]


@pytest.mark.parametrize("said", ["", '{"task_id": "other"}', '\\"task_id\\": \\"other\\"'])
async def test_a_large_entry_that_tells_its_task_in_its_middle_keeps_the_orders_of_that_back(
    space: Namespace, said: str
) -> None:
    """Whatever its ends say."""
    await busy(space)
    await space.submit("other")
    params = {"message": {"parts": [{"kind": "text", "text": "x" * 40_000}]}, "task_id": "long", "more": "y" * 5_000}
    large = json.dumps({"said": said, "operation": "run", "params": params, "more": {"task_id": "third"}}).encode()
    await space.push(large, control("cancel", "long"), control("pause", "other"))
    assert (await tend(space)).orders == (0 if said else 1)
    assert len([raw for raw in await space.entries() if b"_b" not in raw]) == (3 if said else 2)


async def test_a_large_entry_with_escaped_letters_or_of_many_bytes_keeps_all_orders_back(space: Namespace) -> None:
    await busy(space)
    for large in (
        run("x", "m1", text="x" * 40_000).replace(b'"x"', b'"\\u0078"'),
        run("x", "m1", text="x" * 1_100_000),
    ):
        await space.push(large, control("cancel", "long"))
        assert (await tend(space)).orders == 0
        await space.do("DEL", space.queue)


async def test_orders_of_one_task_keep_their_order(space: Namespace) -> None:
    await busy(space)
    await space.submit("t1", "t2")
    runs = [run(f"f{number}") for number in range(10)]
    await space.push(control("pause", "t1"), control("pause", "t2"), *runs, control("resume", "t1"))
    assert (await tend(space)).orders == 3
    assert await states(space, "t1", "t2") == ["submitted", "suspended"]
    await space.push(control("resume", "t2"), *runs, run("t1", "m2"), control("pause", "t1"), control("resume", "t1"))
    assert (await tend(space)).orders == 1
    assert (await space.entries())[-4:-1] == [run("t1", "m2"), control("pause", "t1"), control("resume", "t1")]


async def test_an_order_goes_once_though_the_same_bytes_stand_behind_it(space: Namespace) -> None:
    """The second one is another order: a message stands between them."""
    await busy(space)
    await space.submit("t1")
    await space.push(*[run(f"f{number}") for number in range(2 * ENTRIES)])
    await space.push(control("pause", "t1"), run("t1", "m2"), control("pause", "t1"))
    assert (await tend(space)).orders == 1
    assert (await space.entries())[-2:] == [run("t1", "m2"), control("pause", "t1")]


async def test_a_resume_with_a_message_is_heard_and_goes_behind_what_waits(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    await space.push(*[run(f"f{number}") for number in range(3 * ENTRIES)], resume_with("t1"), control("cancel", "x"))
    assert (await tend(space)).orders == 1
    assert await space.state("t1") == "submitted"
    kept = (await space.entries())[-2:]
    assert kept[0] == control("cancel", "x")
    assert kept[1].startswith(b'{"_b":"t1:')
    await space.check()


@pytest.mark.parametrize("why", ["paused", "at its bound", "quiet"])
async def test_orders_are_heard_whatever_keeps_a_lane_from_moving(space: Namespace, why: str) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    if why == "paused":
        await space.store.pause_lane(space.queue, "later")
    elif why == "quiet":
        await space.store.quiet_host("*", "operator", "later")
    else:
        await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
        await space.take("a", 1)
    await space.push(control("cancel", "t2"))
    assert (await tend(space)).orders == 1
    assert await space.state("t2") == "canceled"


async def test_an_order_for_a_damaged_task_is_set_aside_and_stops_no_other(space: Namespace) -> None:
    await busy(space)
    await space.submit("t1", "t2", "t3")
    await space.do("HDEL", space.key("task:t1"), "lane")
    await space.do("DEL", space.key("task:t2"))
    await space.do("SET", space.key("task:t2"), "no record")
    await space.push(control("cancel", "t1"), control("cancel", "t2"), control("cancel", "t3"))
    assert (await tend(space)).orders == 1
    assert await space.state("t3") == "canceled"
    assert sorted(await space.reasons()) == [
        "the record of task t1 cannot be read: it has no field lane",
        "the record of task t2 cannot be read: its key holds no record",
    ]


async def with_orders(space: Namespace, name: str) -> None:
    """Tasks in all states, two in each, for each of which orders were pushed."""
    await space.register("a")
    for verb in ("cancel", "pause", "resume"):
        ids = {state: f"{verb}-{state}-{name}" for state in ("asks", "runs", "paused", "later", "waits")}
        await space.submit(ids["asks"], ids["runs"], concurrency_key=f"{verb}{name}", lane="early")
        await space.store.bound([LaneLimit(LaneBound.KEYS, "early", "9"), LaneLimit(LaneBound.LIMIT, "early", "99")])
        asks, _ = (await space.pull("a", 2, lanes=["early"])).deliveries
        await space.settle("a", asks, Settle.INPUT_REQUIRED)
        await space.submit(ids["paused"], ids["waits"])
        await space.store.pause(ids["paused"], "before")
        await space.submit(ids["later"], delay_ms=9_000)
        await space.push(*(control(verb, one) for one in ids.values()))


@pytest.mark.parametrize(
    "damage",
    [
        *(Damage(field, how) for field in TASK_FIELDS for how in (MISSING, "a word", "too long")),
        *(Damage(key) for key in TASK_KEYS),
    ],
    ids=str,
)
async def test_whatever_is_damaged_of_one_task_others_are_heard(space: Namespace, damage: Damage) -> None:
    await with_orders(space, "bad")
    await with_orders(space, "good")
    if damage.how:
        await damaged_field(space, "task:*-bad", damage)
    else:
        await damaged_key(space, f"{damage.what}:*-bad")
    await tend(space)
    again = await tend(space)
    assert again.lanes == 1
    assert not [raw for raw in await space.entries() if not raw.startswith(b'{"_b"') and b"-good" in raw]
    heard = [await space.state(f"{verb}-{state}-good") for verb in ("cancel", "pause") for state in ("runs", "waits")]
    assert heard == ["canceled", "canceled", "working", "suspended"]
    for state in ("asks", "paused"):
        assert await space.state(f"resume-{state}-good") == "submitted"


async def test_an_order_that_a_damaged_record_makes_fail_is_set_aside_once(space: Namespace) -> None:
    await busy(space)
    await space.submit("t1")
    await space.do("HDEL", space.key("task:long"), "claim")
    entry = control("cancel", "long")
    await space.push(entry, control("cancel", "t1"))
    assert (await tend(space)).lanes == 1
    assert await space.state("t1") == "canceled"
    assert entry not in await space.entries()
    [reason] = await space.reasons()
    assert reason.startswith("it cannot be taken: ")


async def test_lanes_are_looked_at_twice_a_second_however_many_look(space: Namespace) -> None:
    await busy(space)
    await space.push(run("f1"))
    assert (await tend(space)).orders == 0
    await space.push(control("cancel", "long"))
    await space.advance(REST_MS - 1)
    assert (await space.store.tend([space.queue])).orders == 0
    await space.advance(1)
    assert await space.store.tend([space.queue, "nowhere"]) == Tended(2, 1, 0)


async def test_what_is_canceled_paused_or_expired_no_longer_counts(space: Namespace) -> None:
    await space.register("a")
    plain = submission("t5", space.queue)
    expiring = Submission(
        "t5", plain.message_id, plain.digest, plain.operation, plain.lane, options=SubmitOptions(expires_in_ms=100)
    )
    await space.submit("t1", "t2", "t3", "t4")
    await space.store.submit_with_options([expiring])
    await space.store.cancel("t2", "enough")
    await space.store.pause("t3", "later")
    await space.advance(200)
    await space.store.promote(10)
    assert await states(space, "t2", "t3", "t5") == ["canceled", "suspended", "canceled"]
    assert (len(await space.entries()), await length(space)) == (5, 2)
    assert (await tend(space)).stale == 3
    assert (len(await space.entries()), await length(space)) == (2, 2)
    assert not await space.do("EXISTS", space.key("stale"))
    assert [one.task_id for one in await space.take("a")] == ["t1", "t4"]
    await space.check()


async def test_very_many_stale_entries_go_in_bounded_steps(space: Namespace) -> None:
    await space.submit(*(f"t{number}" for number in range(2000)))
    for number in range(1999):
        await space.store.cancel(f"t{number}", "enough")
    assert await length(space) == 1
    first = await tend(space)
    assert first.lanes == 0
    assert 1000 < first.stale < 1200
    assert await length(space) == 1
    second = await space.store.tend([space.queue, "slow"])
    assert (second.lanes, first.stale + second.stale) == (2, 1999)
    assert len(await space.entries()) == 1


async def test_many_lanes_are_looked_at_in_bounded_steps(space: Namespace) -> None:
    await busy(space)
    lanes = [f"l{number}" for number in range(40)]
    for lane in lanes:
        await space.push(
            *[run(f"{lane}.{number}") for number in range(100)], control("cancel", "long"), lane=space.keys.lane(lane)
        )
    tended = await tend(space, *lanes)
    assert 8 <= tended.lanes == tended.orders < 20


async def test_one_call_decodes_and_reads_a_bounded_number_of_bytes(space: Namespace) -> None:
    await busy(space)
    lanes = [f"l{number}" for number in range(12)]
    for number, lane in enumerate(lanes):
        large = [run(f"{lane}.{one}", text="x" * 30_000) for one in range(2)]
        await space.push(*large, control("cancel", "long" if number < 6 else "gone"), lane=space.keys.lane(lane))
    assert (await tend(space, *lanes)).lanes < 6
    own = [f"own{number}" for number in range(12)]
    for lane in own:
        await space.submit(*(f"{lane}.{one}" for one in range(5)), lane=lane, text="x" * 60_000)
    assert (await tend(space, *own)).lanes < 8


async def test_a_look_reads_a_bounded_number_of_bytes(space: Namespace) -> None:
    """An order behind 64 KB of other entries is not seen."""
    await busy(space)
    large = [run(f"f{number}", text="x" * 20_000) for number in range(9)]
    await space.push(*large[:4], control("cancel", "long"), *large[4:])
    assert (await tend(space)).orders == 0
    await space.do("LPOP", space.queue)
    assert (await tend(space)).orders == 1


async def test_workers_that_meet_stale_entries_count_them_off(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    for task_id in ("t1", "t2"):
        await space.store.cancel(task_id, "enough")
    assert await length(space) == 1
    assert [one.task_id for one in await space.take("a")] == ["t3"]
    assert not await space.do("EXISTS", space.key("stale"))
    await space.submit("t4")
    assert await length(space) == 1


async def test_a_resumed_task_keeps_the_entry_that_it_needs(space: Namespace) -> None:
    """It has two: the first to be met starts it, and the other one is stale then."""
    await space.register("a")
    await space.submit("t1", "t2")
    await space.store.pause("t1", "later")
    await space.store.resume("t1", "now")
    assert (len(await space.entries()), await length(space)) == (3, 2)
    assert (await tend(space)).stale == 0
    assert (len(await space.entries()), await length(space)) == (3, 2)
    await space.do("RPOP", space.queue)  # the later one goes to somebody else
    await tend(space)
    assert [one.task_id for one in await space.take("a")] == ["t1", "t2"]


async def test_a_task_that_was_removed_and_came_again_keeps_its_entry(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await space.store.cancel("t1", "enough")
    await space.store.forget_tasks(["t1"])
    await space.submit("t1")
    await tend(space)
    assert await length(space) == 2
    assert {one.task_id for one in await space.take("a")} == {"t1", "t2"}
    await space.check()


async def test_entries_of_removed_tasks_go(space: Namespace) -> None:
    await space.submit("t1", "t2", "t3")
    await space.store.cancel("t2", "enough")
    await space.store.forget_tasks(["t2"])
    assert await length(space) == 2
    assert (await tend(space)).stale == 1
    assert (len(await space.entries()), await length(space)) == (2, 2)


async def test_an_entry_that_another_program_moved_stays(space: Namespace) -> None:
    await space.submit("t1", "t2", "t3")
    await space.submit("s1", lane="slow")
    await space.store.cancel("t2", "enough")
    await space.store.cancel("s1", "enough")
    await space.do("RPOPLPUSH", space.queue, space.keys.lane("slow"))  # t3's
    assert (await tend(space, "slow", space.queue)).stale == 2
    assert (len(await space.entries()), len(await space.entries(space.keys.lane("slow")))) == (1, 1)


async def test_entries_that_others_took_make_no_length_lie_for_long(space: Namespace) -> None:
    await space.submit(*(f"t{number}" for number in range(6)))
    for number in range(3):
        await space.store.cancel(f"t{number}", "enough")
    await space.do("LPOP", space.queue, 3)  # those that were stale
    assert await length(space) == 0
    await tend(space)
    assert await length(space) == 3
    await space.store.cancel("t3", "enough")
    await space.do("DEL", space.queue)
    await space.submit("t7", "t8")
    await tend(space)
    assert await length(space) == 2


async def test_entries_that_others_pushed_hide_no_theft(space: Namespace) -> None:
    await space.submit("t1", "t2")
    await space.store.cancel("t1", "enough")
    await space.do("LPOP", space.queue)
    await space.push(run("f1"), run("f2"))
    await tend(space)
    assert await length(space) == 3


async def test_in_a_long_lane_the_count_is_no_more_than_can_be(space: Namespace) -> None:
    await space.submit(*(f"t{number}" for number in range(4 * ENTRIES)))
    for number in range(100, 110):
        await space.store.cancel(f"t{number}", "enough")
    for raw in (await space.entries())[100:110]:
        await space.do("LREM", space.queue, 1, raw)
    assert await length(space) == 4 * ENTRIES - 20
    await tend(space)
    assert await length(space) == 4 * ENTRIES - 10


async def test_the_count_is_reset_where_the_list_is_empty(space: Namespace) -> None:
    await space.submit("t1", "t2")
    await space.store.cancel("t1", "enough")
    await space.do("DEL", space.queue)
    assert await length(space) == 0
    await tend(space)
    assert not await space.do("EXISTS", space.key("stale"), space.key("tended"))


async def test_a_count_never_falls_below_nothing(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [raw] = await space.entries()
    await space.push(raw, raw, raw)
    await space.take("a")
    assert not await space.do("EXISTS", space.key("stale"))
    await space.submit("t2")
    assert await length(space) == 1


async def test_clearing_a_lane_leaves_no_count(space: Namespace) -> None:
    await space.submit("t1", "t2", "t3")
    await space.store.cancel("t1", "enough")
    await space.push(run("f1"))
    while await space.store.clear(space.queue, 2):
        pass
    assert not await space.do("EXISTS", space.key("stale"))


async def test_what_waits_beside_its_lane_leaves_no_entry(space: Namespace) -> None:
    """At a gate, or as a suspect."""
    await space.register("a")
    await space.submit("k1", "k2", concurrency_key="k")
    await space.take("a")
    await space.store.cancel("k2", "enough")
    assert not await space.do("EXISTS", space.key("stale"))
    await space.submit("s1")
    for name in ("b", "c"):
        await space.register(name)
        assert "s1" in {one.task_id for one in await space.take(name)}
        await space.crash(name, begun=["s1"])
        await space.advance(10_000)
        await space.store.promote(10)
    assert await space.do("ZCARD", space.key(f"suspects:{space.queue}")) == 1
    await space.store.cancel("s1", "enough")
    assert not await space.do("EXISTS", space.key("stale"))
    await space.check()


async def test_a_task_that_expires_as_it_is_taken_leaves_no_entry(space: Namespace) -> None:
    await space.register("a")
    plain = submission("t1", space.queue)
    options = SubmitOptions(expires_in_ms=100)
    await space.store.submit_with_options(
        [Submission("t1", plain.message_id, plain.digest, plain.operation, plain.lane, options=options)]
    )
    await space.submit("t2")
    await space.advance(100)
    await space.do("ZREM", space.key("agenda"), "expire|t1")  # the worker is first to see it
    assert [one.task_id for one in await space.take("a")] == ["t2"]
    assert await space.state("t1") == "canceled"
    assert not await space.do("EXISTS", space.key("stale"))


async def test_nothing_is_tended_while_the_queue_is_doubted(space: Namespace) -> None:
    """The records may be those of an earlier moment: the order waits until the steward has compared them."""
    await space.submit("t1", "t2")
    await space.store.cancel("t2", "enough")
    await space.push(control("cancel", "t1"))
    await space.do("HSET", space.key("closed"), "", space.clock.now_ms)
    before = await space.entries()
    assert await tend(space) == Tended(1, 0, 0)
    assert (await space.entries(), await space.state("t1")) == (before, "submitted")
    await space.do("HDEL", space.key("closed"), "")
    assert await tend(space) == Tended(1, 1, 2)
    assert await space.state("t1") == "canceled"
