"""The work of one call of a script is bounded, whatever others push and however much a task has been told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count

import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.acceptance import Accepted, Submission
from holdfast.core.delivery import Delivery, EmittedBatch, EmitVerdict, Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from tests.lua.gates import held_at
from tests.lua.namespace import Namespace
from tests.lua.operations import LARGE, admission, control, run, sha1, submission
from tests.lua.test_unknown import serving

pytestmark = pytest.mark.anyio

MIB = 1 << 20


async def inboxes(space: Namespace, worker: str) -> int:
    found: int = await space.do("LLEN", space.key(f"worker:{worker}:inbox"))
    return found


async def test_one_pull_reads_one_entry_that_is_larger_than_a_megabyte(space: Namespace) -> None:
    await space.register("a")
    for lane in ("x", "y"):
        await space.push(
            *(run(f"{lane}{number}", text="x" * 2 * MIB) for number in range(3)), lane=space.keys.lane(lane)
        )
    await space.pull("a", lanes=["x", "y"], weights=[1, 1])
    assert await inboxes(space, "a") == 1
    await space.check()


async def test_a_worker_gets_no_large_entry_before_it_has_admitted_those_it_has(space: Namespace) -> None:
    """Each worker holds one such entry at most, so a recovery puts back few bytes."""
    await space.register("a", "b")
    await space.push(*(run(f"f{number}", text="x" * LARGE) for number in range(3)))
    for _ in range(2):
        pulled = await space.pull("a")
        assert (pulled.inbox, await inboxes(space, "a")) == (1, 1)
    head = await space.store.inbox("a")
    assert head is not None
    await space.store.admit("a", admission(head[1]))
    assert [one.task_id for one in (await space.pull("a")).deliveries] == ["f0"]
    await space.pull("a")
    assert await inboxes(space, "a") == 1
    await space.crash("a")
    assert len(await space.entries()) == 3


async def test_one_pull_looks_at_a_bounded_number_of_entries_of_many_lanes(space: Namespace) -> None:
    await space.register("a")
    lanes = [f"l{number}" for number in range(40)]
    for lane in lanes:
        await space.push(*[b'{"_b":"gone:1","operation":"run"}'] * 60, lane=space.keys.lane(lane))

    async def left() -> int:
        return sum([len(await space.entries(space.keys.lane(lane))) for lane in lanes])

    seen = [await left()]
    while seen[-1]:
        await space.pull("a", lanes=lanes)
        seen.append(await left())
    assert seen == [2400, 1880, 1360, 840, 320, 0]


async def test_one_pull_gives_turns_anew_a_bounded_number_of_times(space: Namespace) -> None:
    """To lanes that give nothing for their turn."""
    await space.register("a")
    lanes = [f"l{number}" for number in range(40)]
    for lane in lanes:
        await space.push(control("cancel", "gone"), lane=space.keys.lane(lane))
    await space.pull("a", 5, lanes=lanes, weights=[1] * 40)
    assert await space.do("EXISTS", *map(space.keys.lane, lanes)) == 40 - 4 * 5


async def test_entries_that_no_worker_is_asked_to_read_are_set_aside_one_a_pull(space: Namespace) -> None:
    await space.register("a")
    await space.push(*[b"x" * 17 * MIB] * 2, run("f"))
    await space.pull("a")
    assert len(await space.reasons()) == 1
    await space.pull("a")
    assert [each.task_id for each in await space.take("a")] == ["f"]


async def test_one_pull_decodes_a_bounded_number_of_bytes_and_loses_no_order(space: Namespace) -> None:
    await space.register("a")
    await space.push(*(run(f"f{number}", text="x" * 30_000) for number in range(12)))
    ran: list[list[str]] = []
    while sum(map(len, ran)) < 12:
        ran.append([each.task_id for each in await space.take("a", 12)])
    assert max(map(len, ran)) <= 5
    assert [each for some in ran for each in some] == [f"f{number}" for number in range(12)]
    await space.check()


async def test_one_pull_tells_a_bounded_number_of_bytes_of_tasks(space: Namespace) -> None:
    await space.register("a")
    await space.store.submit([submission(f"t{number}", space.queue, text="x" * MIB) for number in range(3)])
    assert [[each.task_id for each in await space.take("a")] for _ in range(3)] == [["t0"], ["t1"], ["t2"]]
    await space.check()


async def held_by_key(space: Namespace, tasks: list[Submission]) -> None:
    await space.submit("first", concurrency_key="k")
    await space.store.submit(tasks)
    [first] = await space.take("a")
    while await space.entries():
        await space.take("a")
    await space.store.bound([LaneLimit(LaneBound.KEYS, space.queue, "9")])
    await space.settle("a", first, Settle.COMPLETED)
    await space.push(*[b'{"_b":"gone:1","operation":"run"}'] * 5)  # a share is one of tasks in the lane and of gates


async def held_by_name(space: Namespace, tasks: list[Submission]) -> None:
    """The worker that meets them has no such handler."""
    await serving(space, "b", "known")
    await space.store.submit(tasks)
    while await space.entries():
        await space.take("b")
    await space.crash("b")


@pytest.mark.parametrize("held", [held_by_key, held_by_name])
async def test_one_pull_tells_a_bounded_number_of_bytes_of_tasks_at_gates(
    space: Namespace, held: Callable[[Namespace, list[Submission]], Awaitable[None]]
) -> None:
    await space.register("a")
    names = {"concurrency_key": "k"} if held is held_by_key else {"name": "x"}
    await held(space, [submission(f"t{number}", space.queue, text="x" * MIB, **names) for number in range(3)])
    assert [[each.task_id for each in await space.take("a")] for _ in range(3)] == [["t0"], ["t1"], ["t2"]]
    await space.check()


async def talk(space: Namespace, turns: int, size: int) -> Delivery:
    """A task that is in its last turn of so many, each with a result of `size` bytes."""
    await space.submit("t1")
    for number in range(2, turns + 1):
        await space.message("t1", f"m{number}")
    for _ in range(turns - 1):
        [delivery] = await space.take("a", 1)
        await space.settle("a", delivery, Settle.COMPLETED, result=b'"%s"' % (b"r" * size))
    [delivery] = await space.take("a", 1)
    return delivery


async def test_a_delivery_has_as_much_of_a_long_history_as_one_call_tells(space: Namespace) -> None:
    await space.register("a")
    last = await talk(space, 8, MIB // 4)
    assert (len(last.history), last.earlier) == (8, 6)
    items, first = await space.store.earlier("t1", last.earlier)
    assert (len(items), first) == (6, 0)
    assert [sha1(item) for item in (*items, *last.history)] == [
        sha1(item) for item in await space.do("LRANGE", space.key("history:t1"), 0, -1)
    ]


async def test_a_history_of_many_small_items_is_told_in_steps(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.do("RPUSH", space.key("history:t1"), *([run("t1"), b""] * 2500))
    await space.do("HSET", space.key("task:t1"), "turn", 2501)
    [delivery] = await space.take("a")
    known, first = len(delivery.history), delivery.earlier
    steps = 0
    while first:
        items, first = await space.store.earlier("t1", first)
        known, steps = known + len(items), steps + 1
    assert (known, steps) == (5000, 4)


async def test_steps_are_read_in_pages(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    for place in range(5):
        await space.store.step("t1", delivery.claim, place, "fetch", b'"%s"' % (b"r" * (MIB // 2)))
    pages = list[int]()
    following: int | None = 0
    while following is not None:
        steps, following = await space.store.steps("t1", following)
        pages += [len(steps)]
    assert pages == [1, 1, 1, 1, 1]
    names, again = await space.store.step_names("t1", 3)
    assert ([step.place for step in names], [step.size for step in names], again) == ([3], [MIB // 2 + 2], 4)


async def emitter(space: Namespace) -> Callable[[int, bytes], Awaitable[None]]:
    """Emits one part of task `t1`, of this number in its run."""
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")

    async def emit(number: int, value: bytes) -> None:
        batch = EmittedBatch("t1", delivery.claim, delivery.run, number, 1, b"[%s]" % value)
        assert await space.store.emit([batch]) == [EmitVerdict.OK]

    return emit


async def test_parts_are_read_in_pages(space: Namespace) -> None:
    emit = await emitter(space)
    for number in range(1, 6):
        await emit(number, b'"%s"' % (b"p" * (MIB // 8)))
    pages, position = list[list[int]](), 0
    while len(pages) < 9:
        page = await space.store.emitted_parts("t1", position)
        pages.append([part.position for part in page.parts])
        if page.is_whole:
            break
        position = max([position, *pages[-1]])
    assert pages == [[1], [2], [3], [4], [5]]


async def test_batches_of_parts_are_dropped_a_few_at_a_time(space: Namespace) -> None:
    """A last part behind a leap of numbers, as after an absence of the store: all others are too many by then."""
    emit = await emitter(space)
    for number in range(1, 501):
        await emit(number, b"1")
    await emit(1_000_000, b"1")
    assert await space.do("LLEN", space.key("parts:t1")) == 301
    for number in range(1_000_001, 1_000_003):
        await emit(number, b"1")
    assert await space.do("LLEN", space.key("parts:t1")) == 3


async def test_a_delivery_has_no_more_of_a_history_than_its_operation_asks_for(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.do("RPUSH", space.key("history:t1"), *([run("t1"), b""] * 9))
    await space.do("HSET", space.key("task:t1"), "turn", 10)
    operation = run("t1").replace(b'"context_id"', b'"history_length": 3, "context_id"')
    await space.do("SET", space.key("op:t1"), operation)
    [delivery] = await space.take("a")
    assert (len(delivery.history), delivery.earlier) == (6, 12)


async def test_of_very_many_gates_a_look_counts_and_a_bound_opens_the_first(space: Namespace) -> None:
    gates = [f"key:{number}" for number in range(1200)]
    await space.do("SADD", space.key("gated"), space.queue)
    await space.do("ZADD", space.key(f"gates:{space.queue}"), *[item for gate in gates for item in ("inf", gate)])
    for gate in gates:
        await space.do("ZADD", space.key(held_at(space.queue, gate)), 1, "t1", 2, "t2")
    assert [lane.held for lane in (await space.store.lanes([space.queue])).lanes] == [1000 * 2 + 200]
    await space.store.bound([LaneLimit(LaneBound.KEYS, space.queue, "2")])
    assert await space.do("ZCOUNT", space.key(f"gates:{space.queue}"), "-inf", "(inf") == 1000


async def test_so_many_messages_may_wait_for_a_task(space: Namespace) -> None:
    await space.store.limit_messages(3)
    await space.register("a")
    await space.submit("t1")
    answers = [await space.message("t1", f"m{number}") for number in range(5)]
    assert answers == [Accepted.PENDING] * 3 + [Accepted.FULL] * 2
    assert await space.message("t1", "m1") is Accepted.DUPLICATE
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.message("t1", "m4") is Accepted.PENDING
    await space.check()


async def test_a_thousand_wait_where_nobody_says_otherwise(space: Namespace) -> None:
    await space.submit("t1")
    await space.do("RPUSH", space.key("pending:t1"), *[b"m|o|x"] * 999)
    assert [await space.message("t1", message) for message in ("a", "b")] == [Accepted.PENDING, Accepted.FULL]


async def test_a_pushed_message_too_many_is_set_aside(space: Namespace) -> None:
    await space.store.limit_messages(1)
    await space.register("a")
    await space.submit("t1")
    await space.push(run("t1", "m2"), run("t1", "m3"))
    await space.pull("a")
    assert await space.reasons() == ["task t1 has as many waiting messages as are allowed"]
    await space.check()


async def test_a_parked_task_takes_its_answer_whatever_may_wait(space: Namespace) -> None:
    await space.store.limit_messages(1)
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    assert await space.message("t1", "m2") is Accepted.TURN


async def crowded(space: Namespace, messages: int) -> None:
    await space.submit("t1")
    for number in range(messages):
        await space.message("t1", f"m{number}")


async def test_the_messages_of_a_task_that_ends_are_set_aside_in_bounded_steps(space: Namespace) -> None:
    await crowded(space, 500)
    await space.store.cancel("t1", "enough")
    aside = [len(await space.reasons())]
    for _ in range(2):
        await space.check()
        await space.store.promote(100)
        aside.append(len(await space.reasons()))
    assert aside == [200, 400, 500]
    assert not await space.do("EXISTS", space.key("leftover"), space.key("left:t1"))
    await space.check()


async def test_the_messages_that_join_a_turn_do_so_in_bounded_steps(space: Namespace) -> None:
    await space.register("a")
    await crowded(space, 450)
    await space.store.pause("t1", "wait")
    assert await space.message("t1", "last") is Accepted.TURN
    turns = [(await space.task("t1")).turn]
    assert (await space.state("t1"), await space.store.resume("t1", "now")) == ("suspended", "suspended")
    await space.check()
    for _ in range(2):
        await space.store.promote(100)
        turns.append((await space.task("t1")).turn)
        await space.check()
    assert (turns, await space.state("t1")) == ([201, 401, 452], "submitted")
    assert not await space.do("EXISTS", space.key("joining"), space.key("pending:t1"))


async def test_a_pause_ends_the_steps_in_which_messages_join(space: Namespace) -> None:
    await crowded(space, 250)
    await space.store.pause("t1", "wait")
    await space.message("t1", "last")
    await space.store.pause("t1", "not yet")
    await space.store.promote(100)
    assert (await space.state("t1"), (await space.task("t1")).pending) == ("suspended", 51)
    await space.store.resume("t1", "now")
    assert await space.state("t1") == "submitted"
    await space.check()


async def test_without_a_steward_pulls_let_messages_join(space: Namespace) -> None:
    await space.register("a")
    await crowded(space, 250)
    await space.store.pause("t1", "wait")
    await space.message("t1", "last")
    await space.pull("a")
    assert await space.state("t1") == "working"
    await space.check()


async def test_a_damaged_list_of_messages_that_join_stops_nothing_else(space: Namespace) -> None:
    await crowded(space, 250)
    await space.store.pause("t1", "wait")
    await space.message("t1", "last")
    await space.do("DEL", space.key("history:t1"))
    await space.do("SET", space.key("history:t1"), "x")
    await space.submit("t2", delay_ms=1)
    await space.advance(2)
    await space.store.promote(100)
    assert (await space.state("t1"), await space.state("t2")) == ("suspended", "submitted")
    assert await space.reasons() == ["the record of task t1 cannot be read: its history is no list"]
    assert (await space.task("t1")).pending == 51


async def test_without_a_steward_pulls_set_aside_what_is_left(space: Namespace) -> None:
    await space.register("a")
    await crowded(space, 300)
    await space.store.cancel("t1", "enough")
    await space.pull("a")
    assert len(await space.reasons()) == 300


async def test_a_task_is_forgotten_when_its_messages_are_set_aside(space: Namespace) -> None:
    await crowded(space, 300)
    await space.store.cancel("t1", "enough")
    await space.advance(1000)
    assert await space.store.trim(10, 100) == 0
    await space.store.promote(100)
    assert await space.store.trim(10, 100) == 1
    await space.check()


async def test_a_lane_is_cleared_in_steps_of_bytes(space: Namespace) -> None:
    await space.push(*[b"x" * (MIB // 2)] * 5)
    went: list[int] = []
    for _ in count():
        went.append(await space.store.clear(space.queue, 100))
        if not went[-1]:
            break
    assert went == [2, 2, 1, 0]


async def test_audit_looks_at_no_more_of_a_head_of_large_entries(space: Namespace) -> None:
    """Blind for a while, never wrong: the head it sees is foreign."""
    await space.push(*[b"x" * MIB] * 3)
    await space.submit("t1", "t2")
    await space.do("LREM", space.queue, 1, (await space.entries())[3])
    for _ in range(3):
        assert await space.store.audit(space.queue, 100, "") == (0, "")


async def of_many_turns(space: Namespace) -> None:
    """A task that has ended, with a result of each of 5,000 turns."""
    await space.submit("t1")
    await space.store.cancel("t1", "enough")
    await space.do("HSET", space.key("task:t1"), "turn", 5000)
    await space.do("RPUSH", space.key("history:t1"), *[b"{}"] * 9998)
    results = [item for turn in range(1, 5001) for item in (space.key(f"result:t1:{turn}"), b"x")]
    await space.do("MSET", *results)
    await space.advance(1000)


async def results_left(space: Namespace) -> int:
    found: int = await space.do("EXISTS", *(space.key(f"result:t1:{turn}") for turn in range(1, 5001)))
    return found


async def test_a_task_of_very_many_turns_is_forgotten_in_steps(space: Namespace) -> None:
    await of_many_turns(space)
    left = []
    while await space.store.trim(10, 100) == 100:
        left.append(await results_left(space))
    assert left == [3000, 1000]
    assert (await results_left(space), await space.store.get("t1")) == (0, None)
    await space.check()


@pytest.mark.parametrize("turn", ["inf", "nan", "1e300", "-1", "9" * 40])
async def test_a_task_whose_turn_somebody_has_damaged_is_forgotten(space: Namespace, turn: str) -> None:
    await space.submit("t1")
    await space.store.cancel("t1", "enough")
    await space.do("HSET", space.key("task:t1"), "turn", turn)
    await space.advance(1000)
    assert await space.store.trim(10, 100) == 1
    assert await space.store.get("t1") is None


@pytest.mark.parametrize(("items", "size", "steps"), [(5, MIB // 2, 3), (2200, 1, 3)])
async def test_what_was_said_to_a_task_is_copied_for_its_retry_in_steps(
    space: Namespace, items: int, size: int, steps: int
) -> None:
    await space.submit("t1")
    said = [b"%d" % number + b"x" * size for number in range(items)]
    await space.do("RPUSH", space.key("history:t1"), *said)
    await space.do("HSET", space.key("task:t1"), "turn", 2)
    await space.store.cancel("t1", "enough")
    words = []
    while not words or words[-1] == b"more":
        words.append((await space.store.connection.run("retry", "t1", "again", ""))[0])
        await space.check()
    assert words == [b"more"] * (steps - 1) + [b"new"]
    assert await space.do("LRANGE", space.key("history:t1.r1"), 0, -1) == said
    assert await space.do("EXISTS", space.key("retrying:t1")) == 0


async def test_a_task_of_very_many_turns_can_be_removed(space: Namespace) -> None:
    await of_many_turns(space)
    await TaskManager(space.store, queue=space.queue).remove_task("t1")
    assert (await results_left(space), await space.store.get("t1")) == (0, None)
