"""`chain` and `gather`: tasks that run after others, submitted together."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from holdfast import Handlers, ParentValues, Reject, Task, TaskManager, TaskSpec, chain, create_broker, gather
from holdfast import sync as without_async
from holdfast.client.flow import Flow
from holdfast.core.task_states import State
from holdfast.errors import HandlerError, InvalidTaskError, UnknownTaskError
from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds


@dataclass
class Page:
    url: str
    day: datetime.date


handlers = Handlers()


@handlers.register("fetch")
async def fetch(url: str) -> Page:
    return Page(url, datetime.date(2030, 1, 2))


@handlers.register("read")
def read(pages: ParentValues[Page], prefix: str = "") -> str:
    """A sync handler."""
    (page,) = pages
    return f"{prefix}{page.url} of {page.day.year}"


@handlers.register("join")
async def join(task: Task, texts: ParentValues[str | None]) -> list[str | None]:
    assert list(texts) == [parent.value for parent in task.parents.values()]
    return [*texts]


@handlers.register("add")
async def add(numbers: ParentValues[int]) -> int:
    return sum(numbers)


@handlers.register("give")
async def give(value: Any) -> Any:
    return value


@handlers.register("refuse")
async def refuse() -> str:
    raise Reject("no such page")


async def test_a_chain_hands_each_value_on() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        sent = await chain(fetch.bind("a.html"), read.bind(prefix="> "), join.bind())
        record = await sent.wait(WITHIN, raise_failed=True)
        assert record.value == ["> a.html of 2030"]


async def test_a_group_is_gathered_in_its_order() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        both = gather([chain(fetch.bind(url), read.bind()) for url in ("a", "b")], then=join.bind())
        assert (await (await both).wait(WITHIN, raise_failed=True)).value == ["a of 2030", "b of 2030"]
        first, second = await gather([give.bind(1), give.bind(2)])
        assert [(await each.wait(WITHIN, raise_failed=True)).value for each in (first, second)] == [1, 2]
        spread = await chain(give.bind(5), gather([add.bind(), add.bind()]), add.bind())
        assert (await spread.wait(WITHIN, raise_failed=True)).value == 10


async def test_plain_tasks_can_be_parts() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        one, two = (TaskSpec(name="give", kwargs={"value": n}) for n in (1, 2))
        sent = await gather([one, two, give.bind(3)], then=TaskSpec(name="add"))
        assert (await sent.wait(WITHIN, raise_failed=True)).value == 6


async def test_a_flow_that_is_awaited_again_is_the_same_tasks() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        flow = chain(give.bind(1), add.bind())
        first, again = await flow, await flow
        assert first.task_id == again.task_id
        twice = await gather([flow, flow], then=add.bind())
        assert (await twice.wait(WITHIN, raise_failed=True)).value == 2
        await first.wait(WITHIN)
        assert await broker.manager.count_tasks() == 7


async def test_a_flow_under_a_key_is_submitted_once() -> None:
    async with create_broker(type="memory") as broker:

        def flow() -> Flow[Any, Any]:
            return chain(give.options(delay=3600).bind(1), give.options(task_id="own").bind(2), add.bind(), key="sums")

        first, again = await flow(), await flow()
        assert first.task_id == again.task_id
        assert await broker.manager.count_tasks() == 3
        assert (await broker.manager.get_task(first.task_id)).waits_for == ("own",)
        other = await chain(give.options(delay=3600).bind(1), add.bind(), key="others")
        assert other.task_id != first.task_id
        assert await broker.manager.count_tasks() == 5
        for task in (await broker.manager.list_tasks()).tasks:
            await broker.manager.cancel_task(task.task_id)


async def test_the_rest_of_a_long_flow_is_submitted_under_its_key() -> None:
    """Its producer had died in the midst of it."""

    def flow() -> Flow[Any, Any]:
        groups = [gather([give.bind(n) for n in range(50)], then=add.bind()) for _ in range(3)]
        return gather(groups, then=add.bind(), key="long")

    async with create_broker(type="memory") as broker, broker.working(handlers):
        await broker.manager.run_tasks(flow().specs("bindu:tasks")[:100])
        sent = await flow()
        assert (await sent.wait(WITHIN, raise_failed=True)).value == 3 * sum(range(50))
        assert await broker.manager.count_tasks() == 154


async def test_what_stands_before_is_kept_and_added_to() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        before = await give.submit(1)
        sent = await chain(give.bind(2), add.options(after=[before.task_id]).bind())
        assert (await sent.wait(WITHIN, raise_failed=True)).value == 3


async def test_a_failed_part_fails_what_follows_or_is_none() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        failed = await chain(refuse.bind(), join.bind(), join.bind())
        record = await failed.wait(WITHIN)
        assert record.state is State.FAILED
        anyway = await gather([give.bind("a"), refuse.bind()], then=join.options(if_parent_fails="run").bind())
        assert (await anyway.wait(WITHIN, raise_failed=True)).value == ["a", None]
        strict = await gather([give.bind(1), refuse.bind()], then=add.options(if_parent_fails="run").bind())
        record = await strict.wait(WITHIN)
        assert (record.state, record.error is not None and record.error.type) == (State.REJECTED, "BadArguments")
        assert " is rejected and has no value: argument numbers: Input should be a valid integer" in record.reason


async def test_a_value_that_does_not_fit_rejects_the_task_and_names_the_parent() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        sent = await chain(give.options(task_id="p").bind({"no": "number"}), add.bind())
        record = await sent.wait(WITHIN)
        assert (record.state, record.reason) == (
            State.REJECTED,
            "parent p: argument numbers: Input should be a valid integer",
        )


async def test_without_parents_there_are_no_values() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        assert (await (await add.submit()).wait(WITHIN, raise_failed=True)).value == 0
    assert await add(ParentValues([1, 2])) == 3


async def test_a_task_cannot_be_given_the_values() -> None:
    with pytest.raises(InvalidTaskError, match="unexpected keyword argument 'numbers'"):
        add.spec(numbers=[1])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    async with create_broker(type="memory") as broker, broker.working(handlers):
        task_id = await broker.manager.run_task(name="add", kwargs={"numbers": [1]})
        assert (await broker.manager.wait(task_id, WITHIN)).reason == "unexpected arguments: numbers"


def test_a_handler_without_a_name_may_take_the_values() -> None:
    only = Handlers()

    @only.default
    async def total(values: ParentValues[int]) -> int:
        return sum(values)

    with pytest.raises(HandlerError, match="it may take messages, task, ParentValues"):

        @Handlers().default
        async def other(strange: int) -> None: ...


NO_FLOWS: dict[str, tuple[Any, str]] = {
    "nothing": (lambda: chain(), "at least one task is expected"),
    "a text": (lambda: chain(give.bind(1), "add"), "'add': a task of handler.bind"),  # type: ignore[call-overload]  # pyright: ignore
    "no list": (lambda: gather(5), "parts 5: a list of tasks"),  # type: ignore[call-overload]  # pyright: ignore
    "nothing before": (lambda: gather([], then=add.bind()), "name at least one task that runs before"),
    "a bad part": (lambda: gather([TaskSpec()]), "nothing to run: give text, data"),
    "no key": (lambda: chain(give.bind(1), key=""), "key ''"),
    "unique": (
        lambda: chain(give.options(unique="u").bind(1), add.bind()),
        "unique 'u': not allowed for a task that other tasks",
    ),
    "debounce": (
        lambda: gather([give.options(debounce="d", delay=1).bind(1)], then=add.bind()),
        "debounce 'd': not allowed for a task that other tasks",
    ),
}


@pytest.mark.parametrize("option", [{"task_id": "t"}, {"key": "own"}, {"unique": "u"}, {"debounce": "d", "delay": 1}])
def test_the_key_of_a_flow_names_no_task_that_has_an_id_or_may_be_dropped(option: dict[str, Any]) -> None:
    """A task that the store drops as a duplicate must not hold an id: the next call of the flow would find it ended."""
    flow = chain(TaskSpec(text="first"), TaskSpec(text="last", **option), key="k")
    first, last = flow.specs("q")
    assert (first.key, last.key) == ("k/1", option.get("key"))
    assert (last.unique, last.debounce) == (option.get("unique"), option.get("debounce"))


@pytest.mark.parametrize(("make", "why"), NO_FLOWS.values(), ids=NO_FLOWS)
def test_what_is_no_flow_is_named(make: Any, why: str) -> None:
    with pytest.raises(InvalidTaskError, match=why):
        make()


async def test_a_bad_flow_writes_nothing() -> None:
    async with create_broker(type="memory") as broker:
        many = gather([give.bind(n) for n in range(101)], then=add.bind())
        twice = gather([give.options(task_id="a").bind(n) for n in range(2)])
        for flow, why in (
            (many, "after names 101 tasks: a task can wait for at most 100 others"),
            (twice, "two tasks of the flow have this id"),
        ):
            with pytest.raises(InvalidTaskError, match=why):
                await flow
        with pytest.raises(InvalidTaskError, match="flow 5: a flow is expected"):
            await broker.manager.run_flow(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(UnknownTaskError, match="task nobody, after which"):
            await give.options(after=["nobody"]).bind(1)
        assert await broker.manager.count_tasks() == 0


async def test_code_without_async_submits_flows(redis_settings: RedisSettings) -> None:
    def produce(manager: TaskManager) -> Any:
        sent = gather([give.bind(1), give.bind(2)], then=add.bind()).submit_sync()
        return sent.wait(WITHIN, raise_failed=True).value

    async with create_broker(type="memory") as broker, broker.working(handlers):
        assert await anyio.to_thread.run_sync(produce, broker.manager) == 3

    def produce_plain() -> tuple[str, ...]:
        with without_async.TaskManager(redis_settings) as manager:
            *_, last = manager.run_flow(chain(TaskSpec(text="one", delay=3600), TaskSpec(text="two")))
            return manager.get_task(last).waits_for

    assert len(await anyio.to_thread.run_sync(produce_plain)) == 1
