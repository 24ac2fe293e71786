"""The broker of a test: what runs and when, what was submitted, what cannot be done."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio.to_thread
import pytest

from holdfast import Handlers, Retry, Task, chain, create_broker
from holdfast.core.task_states import State
from holdfast.errors import HandlerError, HoldfastError, NotDueError, StoreRefusedError, TaskFailed, WouldBlockError
from holdfast.testing import MemoryBroker, memory_broker
from holdfast_config import Settings

pytestmark = pytest.mark.anyio

handlers = Handlers()
ran: list[Any] = []


class Pool:
    """The value of a lifespan."""


@handlers.lifespan
async def open_pool() -> AsyncIterator[Pool]:
    yield Pool()


@handlers.register("note", lane="notes")
async def note(pool: Pool, what: str, day: datetime.date | None = None) -> str:
    ran.append(what)
    return what


@handlers.register("stumble")
async def stumble(task: Task, times: int) -> int:
    ran.append(task.run)
    if task.attempts < times:
        raise RuntimeError("not yet")
    return task.run


@handlers.register("later")
async def later(task: Task, seconds: float) -> str:
    if task.attempts == 0:
        raise Retry(after=seconds)
    return "done"


@handlers.register("one at a time", concurrency=1)
def one_at_a_time(number: int) -> int:
    return number


@handlers.register("pass on")
def pass_on(what: str) -> str:
    return note.options(lane="elsewhere").submit_sync(what).task_id


@handlers.register("ask another")
async def ask_another(what: str) -> str:
    sent = await note.submit(what)
    return str((await sent.wait(raise_failed=True)).value)


@handlers.register("tell")
async def tell(task: Task) -> None:
    await task.emit("a")
    await task.emit("b")


@handlers.register("nap")
async def nap(task: Task) -> str:
    await task.sleep(hours=6)
    return await task.question("go on?")


@handlers.register("runs its own broker")
async def runs_its_own_broker() -> None:
    await around[0].run_until_idle()


around: list[MemoryBroker] = []


@pytest.fixture
def broker() -> Iterator[MemoryBroker]:
    ran.clear()
    with memory_broker(handlers, Settings(max_attempts=5)) as broker:
        around[:] = [broker]
        yield broker


async def test_nothing_runs_before_it_is_said(broker: MemoryBroker) -> None:
    sent = await note.submit("a")
    assert (await sent.record()).state is State.SUBMITTED
    await broker.run_until_idle()
    assert (await sent.record()).value == "a"


async def test_a_wait_runs_what_can_run(broker: MemoryBroker) -> None:
    sent = [await note.submit(str(number)) for number in range(3)]
    assert (await sent[2].wait()).value == "2"
    records = [record async for record in broker.manager.wait_all(one.task_id for one in sent)]
    assert sorted(record.value for record in records) == ["0", "1", "2"]


async def test_two_wait_at_once(broker: MemoryBroker) -> None:
    first, second = await note.submit("a"), await note.submit("b")
    records = await asyncio.gather(first.wait(), second.wait())
    assert [record.value for record in records] == ["a", "b"]


async def test_a_task_that_is_not_due_is_not_waited_for_without_end(broker: MemoryBroker) -> None:
    sent = await note.options(delay=60).submit("a")
    with pytest.raises(NotDueError, match=r"delayed for 60 s more.*move_time\(seconds=60\)"):
        await sent.wait()
    with pytest.raises(TimeoutError):
        await sent.wait(timeout=5)


async def test_a_wait_for_a_task_that_is_to_be_tried_again_says_why(broker: MemoryBroker) -> None:
    sent = await stumble.submit(1)
    with pytest.raises(NotDueError, match=r"\(stumble\) is delayed \(.*not yet.*\) for .* s more"):
        await sent.wait()


async def test_a_wait_for_a_handler_that_is_not_registered_names_those_that_are(broker: MemoryBroker) -> None:
    task_id = await broker.manager.run_task(name="noet")
    with pytest.raises(NotDueError, match=r"no handler 'noet'; .* registers: ask another, later, nap, note"):
        await broker.manager.wait(task_id)


async def test_it_shows_itself_with_its_time(broker: MemoryBroker) -> None:
    await note.submit("a")
    assert repr(broker) == f"<MemoryBroker of queue bindu:tasks: 1 task submitted, {broker.now.isoformat()}>"


async def test_a_delayed_task_runs_when_the_time_has_come_and_not_before(broker: MemoryBroker) -> None:
    sent = await note.options(delay=60).submit("a")
    await broker.move_time(seconds=59.999)
    assert ran == []
    await broker.move_time(seconds=0.001)
    assert (await sent.record()).value == "a"


async def test_retries_run_one_after_the_other_while_time_passes(broker: MemoryBroker) -> None:
    sent = await stumble.submit(3)
    await broker.run_until_idle()
    assert ran == [1]
    await broker.move_time(minutes=1)
    assert ran == [1, 2, 3, 4]
    assert (await sent.wait()).value == 4


async def test_a_retry_has_the_pause_that_its_handler_asks_for(broker: MemoryBroker) -> None:
    sent = await later.submit(3600)
    await broker.move_time(minutes=59)
    assert (await sent.record()).state is State.DELAYED
    await broker.move_time(minutes=1)
    assert (await sent.record()).value == "done"


async def test_the_settings_say_when_a_task_is_given_up(broker: MemoryBroker) -> None:
    sent = await stumble.submit(9)
    await broker.move_time(hours=1)
    with pytest.raises(TaskFailed, match="not yet"):
        await sent.wait(raise_failed=True)
    assert ran == [1, 2, 3, 4, 5]


async def test_a_schedule_fires_at_each_of_its_moments(broker: MemoryBroker) -> None:
    await note.every(3600, id="hourly").schedule("tick")
    await broker.move_time(hours=6)
    assert ran == ["tick"] * 6
    assert len(broker.submitted(note)) == 6


async def test_a_task_of_a_schedule_is_tried_again_after_the_pauses_that_the_schedule_says(
    broker: MemoryBroker,
) -> None:
    await stumble.every(3600, id="hourly", backoff="1000s", limit=1).schedule(2)
    await broker.move_time(seconds=3600 + 499)  # a pause may be half as long
    assert ran == [1]
    await broker.move_time(seconds=501)
    assert ran[:2] == [1, 2]  # at random the third run may be due as well
    await broker.move_time(seconds=2001)
    assert ran == [1, 2, 3]


async def test_a_cron_schedule_goes_by_the_time_of_the_test(broker: MemoryBroker) -> None:
    broker.begin_at(datetime.datetime(2040, 1, 31, 5, tzinfo=datetime.UTC))
    await note.cron("0 6 * * *", id="daily").schedule("six")
    await broker.move_time(days=3)
    assert ran == ["six"] * 3
    assert broker.now == datetime.datetime(2040, 2, 3, 5, tzinfo=datetime.UTC)


async def test_schedules_of_the_code_are_declared() -> None:
    own = Handlers()
    own.register("tick")(lambda: ran.append("tick"))
    own.schedule("minutely", every=60, name="tick")
    ran.clear()
    with memory_broker(own) as broker:
        await broker.run_until_idle()
        await broker.move_time(minutes=2)
    assert ran == ["tick", "tick"]


async def test_a_task_that_nobody_took_in_time_expires(broker: MemoryBroker) -> None:
    before = await note.options(delay=600).submit("first")
    sent = await note.options(after=[before.task_id], expires=300).submit("a")
    await broker.move_time(seconds=299)
    assert (await sent.record()).state is State.WAITING
    await broker.move_time(minutes=11)
    assert (await sent.record()).state is State.CANCELED
    assert ran == ["first"]


async def test_tasks_of_a_limited_handler_all_run(broker: MemoryBroker) -> None:
    sent = await one_at_a_time.submit_many(one_at_a_time.spec(number) for number in range(12))
    await broker.run_until_idle()
    assert [(await one.record()).value for one in sent] == list(range(12))


async def test_tasks_that_handlers_submit_run_too_in_whatever_lane(broker: MemoryBroker) -> None:
    await pass_on.submit("x")
    await broker.run_until_idle()
    assert ran == ["x"]
    assert broker.assert_submitted(note, what="x").lane == "elsewhere"


async def test_a_handler_waits_for_another_task(broker: MemoryBroker) -> None:
    assert (await (await ask_another.submit("x")).wait(raise_failed=True)).value == "x"


async def test_more_tasks_than_a_store_in_memory_holds_elsewhere(broker: MemoryBroker) -> None:
    await note.submit_many(note.spec(str(number)) for number in range(250))
    assert len(broker.submitted()) == 250


async def test_submits_from_other_threads_and_loops_come_to_the_same_broker(broker: MemoryBroker) -> None:
    await anyio.to_thread.run_sync(lambda: note.submit_sync("thread"))
    await asyncio.to_thread(lambda: note.submit_sync("plain thread"))
    beside = threading.Thread(target=lambda: asyncio.run(_submit("loop")))
    beside.start()
    await asyncio.to_thread(beside.join)
    async with create_broker() as other:
        await other.manager.run_task(name="note", kwargs={"what": "broker"})
    assert [task.parameters["what"] for task in broker.submitted(note)] == ["thread", "plain thread", "loop", "broker"]


async def _submit(what: str) -> None:
    await note.submit(what)


async def test_a_batch_ends_with_its_tasks_and_its_callback_runs(broker: MemoryBroker) -> None:
    specs = [note.spec(str(number)) for number in range(3)]
    await broker.manager.run_tasks(specs, batch="three", then=note.spec("all"))
    record = await broker.manager.batch("three").wait()
    assert (record.counts.completed, sorted(ran)) == (3, ["0", "1", "2", "all"])
    delayed = note.options(delay=60).spec("late")
    await broker.manager.run_tasks([delayed], batch="late")
    with pytest.raises(NotDueError, match="batch late is sealed"):
        await broker.manager.batch("late").wait()


async def test_a_chain_runs_to_its_end(broker: MemoryBroker) -> None:
    sent = await chain(note.bind("first"), note.bind("second"))
    await sent.wait()
    assert ran == ["first", "second"]


async def test_the_parts_that_a_task_emits_are_streamed(broker: MemoryBroker) -> None:
    sent = await tell.submit()
    assert [part.value async for part in sent.stream()] == ["a", "b"]
    later = await tell.options(delay=60).submit()
    with pytest.raises(NotDueError, match="for 60 s more"):
        [part async for part in later.stream()]


async def test_a_sleep_and_a_question_go_by_the_time_of_the_test(broker: MemoryBroker) -> None:
    sent = await nap.submit()
    await broker.move_time(hours=5, minutes=59)
    assert (await sent.record()).state is State.DELAYED
    await broker.move_time(minutes=1)
    assert (await sent.wait()).state is State.INPUT_REQUIRED
    await broker.manager.resume_task(sent.task_id, "yes")
    assert (await sent.wait()).value == "yes"


async def test_arguments_are_found_as_they_were_given(broker: MemoryBroker) -> None:
    day = datetime.date(2030, 5, 17)
    await note.options(delay=5, metadata={"by": "me"}).submit("a", day)
    task = broker.assert_submitted(note, day=day)
    assert (task.parameters, task.delay, task.metadata["by"]) == ({"what": "a", "day": "2030-05-17"}, 5, "me")
    assert broker.assert_submitted("note") == task
    broker.assert_not_submitted(note, what="b")


async def test_a_repeated_submit_is_one_task(broker: MemoryBroker) -> None:
    for _ in range(2):
        await note.options(key="once").submit("a")
    assert len(broker.submitted()) == 1


async def test_what_is_missing_is_shown_beside_what_is_there(broker: MemoryBroker) -> None:
    with pytest.raises(AssertionError, match=r"note\(what='b'\) was not submitted; nothing was submitted"):
        broker.assert_submitted(note, what="b")
    await note.options(delay=5).submit("a")
    with pytest.raises(AssertionError, match=r"submitted, 1 in all:\n  note\(what='a'.*\) in notes after 5 s, task"):
        broker.assert_submitted(note, what="b")
    with pytest.raises(AssertionError, match=r"note\(what='a'\) was submitted"):
        broker.assert_not_submitted(note, what="a")


async def test_a_misspelt_parameter_or_a_wrong_handler_is_an_error(broker: MemoryBroker) -> None:
    with pytest.raises(TypeError, match="note has no parameter 'whta'; it has"):
        broker.assert_submitted(note, whta="a")
    with pytest.raises(TypeError, match="a registered handler or the name of one"):
        broker.submitted(len)  # type: ignore[arg-type]


async def test_time_does_not_go_back(broker: MemoryBroker) -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        await broker.move_time(seconds=-1)
    with pytest.raises(ValueError, match="cannot go back"):
        await broker.move_time(to=datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC))


async def test_a_time_without_a_zone_or_beside_a_length_is_refused(broker: MemoryBroker) -> None:
    with pytest.raises(ValueError, match="with a zone"):
        await broker.move_time(to=datetime.datetime(2100, 1, 1))  # noqa: DTZ001 - the mistake
    with pytest.raises(ValueError, match="none of days, hours"):
        await broker.move_time(to=datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC), hours=1)
    with pytest.raises(ValueError, match="with a zone"):
        broker.begin_at(datetime.datetime(2100, 1, 1))  # noqa: DTZ001 - the mistake


async def test_a_test_begins_at_any_time_but_only_once_it_has_not_begun(broker: MemoryBroker) -> None:
    broker.begin_at(datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC))
    await note.submit("a")
    with pytest.raises(HoldfastError, match="comes first"):
        broker.begin_at(datetime.datetime(2002, 1, 1, tzinfo=datetime.UTC))


async def test_a_sync_call_in_a_coroutine_names_the_async_one(broker: MemoryBroker) -> None:
    with pytest.raises(WouldBlockError, match="await run_until_idle"):
        broker.run_until_idle_sync()
    with pytest.raises(WouldBlockError, match="await move_time"):
        broker.move_time_sync(seconds=1)


async def test_a_handler_cannot_run_its_own_broker(broker: MemoryBroker) -> None:
    sent = await runs_its_own_broker.submit()
    await broker.run_until_idle()
    error = (await sent.record()).error
    assert error is None or "a handler runs" in error.message


async def test_without_handlers_tasks_are_kept_and_time_moves() -> None:
    with memory_broker(None) as broker:
        sent = await note.submit("a")
        broker.assert_submitted(note, what="a")
        await broker.move_time(hours=1)
        with pytest.raises(HandlerError, match="holdfast_handlers"):
            await broker.run_until_idle()
        with pytest.raises(NotDueError, match="has no handlers"):
            await sent.wait()


async def test_one_test_has_one_broker_and_one_queue(broker: MemoryBroker) -> None:
    with pytest.raises(StoreRefusedError, match="is open already"), memory_broker(handlers):
        pass
    with pytest.raises(StoreRefusedError, match="has queue bindu:tasks"):
        async with create_broker(queue_name="another"):
            pass


async def test_after_the_block_nothing_stands_in() -> None:
    with memory_broker(None) as broker:
        pass
    async with create_broker(type="memory") as own:
        assert own.store is not broker.store


@pytest.mark.parametrize("wrong", [3, Handlers()])
def test_what_is_no_handler_is_refused(wrong: Any) -> None:
    with pytest.raises(HandlerError), memory_broker(wrong):
        pass


async def test_a_lifespan_that_cannot_be_opened_is_an_error_of_the_run() -> None:
    own = Handlers()

    @own.lifespan
    async def broken() -> AsyncIterator[Pool]:
        raise RuntimeError("no pool")
        yield Pool()

    own.register("x")(lambda: None)
    with memory_broker(own) as broker, pytest.raises(HoldfastError, match="no pool"):
        await broker.run_until_idle()
