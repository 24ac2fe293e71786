"""`handlers.register` makes an object of a function: called like it, submitted with its own arguments."""

from __future__ import annotations

import asyncio
import copy
import datetime
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import anyio.to_thread
import pytest

import holdfast
from holdfast import Handlers, Task, create_broker
from holdfast.app import Broker
from holdfast.client.manager_in_scope import current_manager
from holdfast.core.task_states import State
from holdfast.errors import (
    AmbiguousManagerError,
    HandlerError,
    InvalidScheduleError,
    InvalidTaskError,
    ReturnedValueError,
    StoreRefusedError,
    TaskFailed,
    WouldBlockError,
)
from holdfast.sync import TaskManager
from holdfast_config import RedisSettings, Settings

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds
NAMES = ("REDIS_URL", "REDIS_HOST", "SCHEDULER_TYPE", "SCHEDULER__TYPE", "SCHEDULER__URL")


@dataclass
class Order:
    number: int
    due: datetime.date


handlers = Handlers()


@handlers.register("add", lane="sums")
async def add(left: int, right: int = 1) -> int:
    """Adds."""
    return left + right


@handlers.register("place")
async def place(task: Task, order: Order, *, note: str = "") -> Order:
    return Order(order.number + 1, order.due)


@handlers.register("count")
async def count(most: int) -> AsyncIterator[int]:
    for number in range(most):
        yield number


@handlers.register("fail")
def fail(reason: str) -> None:
    raise LookupError(reason)


@handlers.register("pass on")
def pass_on(left: int) -> str:
    """A sync handler that submits another task, and reads and cancels through its handle."""
    sent = add.options(lane="later", delay=3600).submit_sync(left)
    assert sent.record().state is State.DELAYED
    sent.cancel("not needed")
    assert sent.wait(timeout=WITHIN).state is State.CANCELED
    return add.options(lane="test:sums").submit_sync(left).task_id


def pass_over(handler: Any, left: int) -> tuple[object, ...]:
    """Called in another process, with a handler that was pickled."""
    spec = handler.spec(left)
    return spec.name, spec.lane, dict(spec.kwargs, right=1)


@handlers.register("lie")
async def lie() -> int:
    answer: Any = "three"
    return answer  # type: ignore[no-any-return]  # that is the point


@handlers.register("rest")
async def rest(first: str, **others: int) -> list[str]:
    return [first, *others]


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file and no variable says anything of a store, and no supervisor runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(tmp_path / "run"))
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def opened(**settings: Any) -> Broker:
    return create_broker(Settings(scheduler_type="memory", retry_base=0, **settings))


async def test_it_is_called_as_the_function() -> None:
    assert await add(2, right=3) == 5
    assert (add.name, add.__name__, add.__doc__) == ("add", "add", "Adds.")
    with pytest.raises(LookupError):
        fail("here")


async def test_a_task_has_the_arguments_and_the_value_of_the_function() -> None:
    order = Order(7, datetime.date(2030, 1, 2))
    async with opened(lanes="bindu:tasks,sums") as broker, broker.working(handlers):
        sum_of, placed, counted, others = (
            await add.submit(2, right=3),
            await place.submit(order, note="soon"),
            await count.submit(most=3),
            await rest.submit("a", b=1),
        )
        assert (await sum_of.wait(timeout=WITHIN)).value == 5
        assert (await placed.wait(timeout=WITHIN, raise_failed=True)).value == Order(8, order.due)
        assert (await counted.wait(timeout=WITHIN)).value == 2
        assert (await others.wait(timeout=WITHIN)).value == ["a", "b"]
        record = await broker.manager.get_task(placed.task_id)
    assert record.value == {"number": 8, "due": "2030-01-02"}  # by its id alone it is what JSON has of it


async def test_options_are_those_of_the_submission_and_the_lane_is_the_handlers() -> None:
    async with opened():
        later = add.options(delay=3600, metadata=MappingProxyType({"by": "me"})).options(task_id="t1")
        sent = await later.submit(1)
        record = await sent.record()
        assert (sent.task_id, record.state, record.lane, record.value) == ("t1", State.DELAYED, "sums", None)
        many = await add.submit_many([later.spec(1), add.options(lane="high").spec(2), add.spec(3)])
        lanes = [(await each.record()).lane for each in many]
        assert (many[0].task_id, lanes) == ("t1", ["sums", "high", "sums"])
        for each in many:
            assert await each.cancel() is State.CANCELED


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((1,), {"rigth": 2}, "unexpected keyword argument 'rigth'"),
        ((), {}, "missing a required argument: 'left'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        (("one",), {}, "argument left: Input should be a valid integer"),
        ((object(),), {}, "JSON has no object"),
        ((b"1",), {}, "left"),
        ((float("inf"),), {}, "left"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_before_anything_is_written(
    args: tuple[Any, ...], kwargs: dict[str, Any], reason: str
) -> None:
    misused: Any = add
    async with opened() as broker:
        with pytest.raises(InvalidTaskError, match=reason):
            await misused.submit(*args, **kwargs)
        with pytest.raises(InvalidTaskError, match=reason):
            await misused.submit_many([add.spec(1), misused.spec(*args, **kwargs)])
        with pytest.raises(InvalidTaskError, match=reason):
            await misused.every(60, id="sums").schedule(*args, **kwargs)
        assert await broker.manager.count_tasks() == 0


async def test_injected_parameters_are_no_arguments_of_a_task() -> None:
    misused: Any = place
    with pytest.raises(InvalidTaskError, match="unexpected keyword argument 'task'"):
        misused.spec(order=Order(1, datetime.date(2030, 1, 1)), task=None)


class Pool:
    """A value that a lifespan opens."""

    size = 3


async def test_the_value_of_a_lifespan_is_no_argument_of_a_task_wherever_the_lifespan_stands() -> None:
    own = Handlers[Pool]()

    @own.register("take")
    async def take(task: Task, pool: Pool, times: int) -> int:
        return pool.size * times

    @own.lifespan
    async def pool() -> AsyncIterator[Pool]:
        yield Pool()

    async with opened() as broker, broker.working(own):
        assert (await (await take.submit(2)).wait(timeout=WITHIN, raise_failed=True)).value == 6


async def test_values_of_two_lifespans_are_no_arguments_of_a_task() -> None:
    own = Handlers[Pool, Order]()

    @own.lifespan
    async def order() -> AsyncIterator[Order]:
        yield Order(5, datetime.date(2030, 1, 1))

    @own.register("take")
    async def take(pool: Pool, order: Order, times: int) -> int:
        return pool.size * order.number * times

    @own.lifespan
    async def pool() -> AsyncIterator[Pool]:
        yield Pool()

    async with opened() as broker, broker.working(own):
        assert (await (await take.submit(2)).wait(timeout=WITHIN, raise_failed=True)).value == 30


def test_it_is_pickled_by_reference_as_a_function_is() -> None:
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.deepcopy({"handler": add})["handler"] is add
    later = pickle.loads(pickle.dumps(add.options(delay=5).options(lane="high")))
    assert (later.spec(1).delay, later.spec(1).lane, later.function) == (5, "high", add.function)

    @Handlers().register("local")
    def local() -> None: ...

    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(local)


def test_processes_of_a_pool_call_it() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(pass_over, add.options(lane="high"), 4).result(WITHIN) == (
            "add",
            "high",
            {"left": 4, "right": 1},
        )


async def test_misused_options_are_named() -> None:
    misused: Any = add
    with pytest.raises(InvalidTaskError, match="option 'dely' is unknown: after, at, "):
        misused.options(dely=3)
    with pytest.raises(InvalidTaskError, match="delay 'soon': seconds"):
        misused.options(delay="soon")
    async with opened() as broker:
        with pytest.raises(InvalidTaskError, match="option key is for one task, not for 2: set it for each"):
            await add.options(key="k").submit_many([add.spec(1), add.spec(2)])
        with pytest.raises(InvalidTaskError, match=r"specs .*: make each of them with add\.spec"):
            await add.submit_many([rest.spec("a")])
        with pytest.raises(InvalidTaskError, match="options delay are for a task, not for a schedule, which takes "):
            await add.options(delay=3).every(60, id="sums").schedule(1)
        with pytest.raises(InvalidScheduleError, match="expires"):
            await add.options(expires=datetime.datetime.now(datetime.UTC)).every(60, id="sums").schedule(1)
        with pytest.raises(InvalidScheduleError):
            await add.cron("whenever", id="sums").schedule(1)
        assert await broker.manager.count_tasks() == 0


async def test_a_name_is_registered_once() -> None:
    with pytest.raises(HandlerError, match="'add' is registered twice"):
        handlers.register("add")


async def test_one_function_may_have_two_names() -> None:
    both = Handlers()

    @both.register("one")
    @both.register("two")
    async def double(number: int) -> int:
        return 2 * number

    async with opened() as broker, broker.working(both):
        assert (await (await double.submit(4)).wait(timeout=WITHIN)).value == 8
        named = await broker.manager.run_task(name="two", kwargs=MappingProxyType({"number": 3}))
        assert (await broker.manager.wait(named, timeout=WITHIN)).value == 6


async def test_a_failure_is_raised_with_the_traceback_of_the_worker() -> None:
    async with opened(max_attempts=1) as broker, broker.working(handlers):
        sent = await fail.submit("no such region")
        record = await sent.wait(timeout=WITHIN)
        assert record.state is State.FAILED
        assert record.value is None
        assert record.error is not None
        assert (record.error.type, record.error.message) == ("LookupError", "no such region")
        with pytest.raises(TaskFailed, match="no such region") as raised:
            await sent.wait(timeout=WITHIN, raise_failed=True)
        canceled = await add.options(delay=3600).submit(1)
        await canceled.cancel("not needed")
        with pytest.raises(TaskFailed, match="canceled: not needed"):
            await canceled.wait(timeout=WITHIN, raise_failed=True)
    error = raised.value
    assert (error.task_id, error.state, error.type) == (sent.task_id, "failed", "LookupError")
    assert "raise LookupError(reason)" in error.traceback
    assert str(error) == f"task {sent.task_id} failed: LookupError: no such region"  # an answer to a client may have it


async def test_a_value_that_is_not_of_the_annotated_type_is_an_error() -> None:
    async with opened() as broker, broker.working(handlers):
        record = await (await lie.submit()).wait(timeout=WITHIN)
    with pytest.raises(ReturnedValueError, match="'three' does not fit the return annotation of lie: Input should be"):
        record.value  # noqa: B018 - reading it raises


async def test_a_sync_handler_submits_to_the_store_of_its_worker() -> None:
    async with opened() as broker, broker.working(handlers):
        sent = await (await pass_on.submit(1)).wait(timeout=WITHIN, raise_failed=True)
        assert (await broker.manager.get_task(str(sent.value))).lane == "test:sums"
        await broker.manager.cancel_task(str(sent.value))


async def test_a_sync_submit_in_a_coroutine_is_refused() -> None:
    async with opened() as broker:
        with pytest.raises(WouldBlockError, match="await"):
            add.submit_sync(1)
        assert await broker.manager.count_tasks() == 0


async def test_a_thread_begun_by_the_code_of_a_broker_submits_to_its_store() -> None:
    async with opened() as broker, broker.working(handlers):
        sent = await asyncio.to_thread(rest.submit_sync, "a")
        assert (await asyncio.to_thread(sent.wait, timeout=WITHIN)).value == ["a"]
        assert await broker.manager.get_task(sent.task_id) is not None


async def test_the_innermost_broker_around_the_code_submits() -> None:
    async with opened(queue_name="outer") as outer:
        async with opened(queue_name="inner") as inner:
            assert (await current_manager(), await asyncio.create_task(current_manager())) == (inner.manager,) * 2
        assert await current_manager() is outer.manager


async def test_a_broker_counts_in_other_tasks_of_its_loop_as_long_as_it_is_the_only_one() -> None:
    entered, left, ending = anyio.Event(), anyio.Event(), anyio.Event()

    async def hold() -> None:
        async with opened(queue_name="beside"):
            entered.set()
            await ending.wait()
        left.set()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await entered.wait()
        assert isinstance(await current_manager(), holdfast.TaskManager)
        another = opened(queue_name="second")
        await asyncio.create_task(another.__aenter__())
        with pytest.raises(AmbiguousManagerError, match=r"2 brokers .* \(queues beside, second\)"):
            await add.submit(1)
        await asyncio.create_task(another.__aexit__(None, None, None))
        ending.set()
        await left.wait()


async def test_without_a_store_nothing_is_submitted_and_a_named_one_is_opened_later(
    monkeypatch: pytest.MonkeyPatch, redis_settings: RedisSettings
) -> None:
    with pytest.raises(StoreRefusedError, match="set REDIS_URL, start a supervisor, or submit within"):
        await add.submit(1)
    monkeypatch.setenv("REDIS_URL", redis_settings.url)
    monkeypatch.setenv("HOLDFAST_QUEUE_NAME", redis_settings.queue)
    first, second = await asyncio.gather(add.submit(1), add.submit(2))
    assert first.manager is second.manager
    assert await first.cancel() is await second.cancel() is State.CANCELED


def test_each_event_loop_has_a_store_that_is_closed_with_it(monkeypatch: pytest.MonkeyPatch, server_url: str) -> None:
    monkeypatch.setenv("REDIS_URL", server_url)
    first, second = asyncio.run(current_manager()), asyncio.run(current_manager())
    assert first is not second  # warnings are errors: a connection that was left open would be one


async def test_a_schedule_runs_the_handler_with_its_arguments() -> None:
    own, ran = Handlers(), anyio.Event()

    @own.register("sum")
    async def total(task: Task, left: int, right: int = 1) -> None:
        assert (left, right, task.metadata) == (2, 3, {"by": "me"})
        ran.set()

    async with opened() as broker, broker.working(own):
        await total.options(metadata={"by": "me"}).every(0.1, id="sums", limit=1).schedule(2, right=3)
        with anyio.fail_after(WITHIN):
            await ran.wait()
        assert await total.cron("0 6 1 * *", id="monthly", timezone="Europe/Berlin").schedule(1) is not None
        assert await total.rrule("FREQ=DAILY;BYHOUR=6", id="daily").schedule(1) is not None
        moment = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
        for at in (moment, moment.timestamp(), "2100-01-01T00:00:00Z"):
            assert await total.at(at, id="once").schedule(2, right=3) == moment
        local = await total.at(moment.replace(tzinfo=None), id="local", timezone="Europe/Berlin").schedule(2)
        assert local == moment - datetime.timedelta(hours=1)
        kept = await broker.manager.schedules.get("monthly")
    assert json.loads(kept.definition.spec)["kwargs"] == {"left": 1}


FORKING = """
import os, sys
from holdfast import Handlers

handlers = Handlers()

@handlers.register("add")
async def add(left: int) -> int: ...

add.submit_sync(0)
child = os.fork()
if child == 0:
    for n in range(10):
        add.submit_sync(n)
    sys.exit(3)
handles = [add.submit_sync(n) for n in range(10)]
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print({str(handle.cancel()) for handle in handles})
"""


def test_without_async_each_process_opens_its_own_store_at_its_first_submit(redis_settings: RedisSettings) -> None:
    """An import opens nothing, a fork inherits nothing, and a program that closes nothing ends."""
    variables = {"REDIS_URL": redis_settings.url, "HOLDFAST_QUEUE_NAME": redis_settings.queue}
    program = [sys.executable, "-W", "error", "-W", "ignore:This process:DeprecationWarning", "-c", FORKING]
    ended = subprocess.run(program, env=os.environ | variables, capture_output=True, text=True, timeout=WITHIN)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3\n{'canceled'}\n", "")
    with TaskManager(redis_settings) as manager:
        assert (manager.count_tasks(), manager.count_tasks(State.CANCELED)) == (21, 10)
