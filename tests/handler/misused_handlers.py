"""Uses of registered handlers for type checkers: the lines that end in `# wrong` have an error, no others do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, assert_type

from holdfast import Handlers, ParentValues, Task, TaskManager, TaskSpec, chain, create_broker, gather
from holdfast.client.flow import SyncTaskHandle, TaskHandle
from holdfast.core.delivery import EmittedPart


class Pool: ...


class Model: ...


handlers = Handlers()
pooled = Handlers[Pool]()
stocked = Handlers[Pool, Model]()


@handlers.register("plain")
async def plain(region: str, copies: int = 1) -> dict[str, int]:
    return {region: copies}


@handlers.register("sync")
def sync(region: str, *, copies: int = 1) -> int:
    return copies


@handlers.register("with task")
async def with_task(task: Task, region: str) -> str:
    return region + task.id


@handlers.register("generator")
async def generator(most: int) -> AsyncIterator[float]:
    yield float(most)


@handlers.register("of anything")
async def of_anything(payload: object, more: int = 1) -> int:
    return more


@pooled.register("with pool")
async def with_pool(pool: Pool, region: str) -> str:
    return region


@pooled.register("with both")
async def with_both(task: Task, pool: Pool, region: str) -> str:
    return region


@handlers.register("of parents")
async def of_parents(counts: ParentValues[int], unit: str) -> float:
    return float(sum(counts))


@handlers.register("of parents with task")
def of_parents_with_task(task: Task, counts: ParentValues[int], unit: str = "") -> int:
    return sum(counts)


async def flows() -> None:
    assert_type(await chain(plain.bind("eu"), sync.bind("eu"), of_parents.bind("words")), TaskHandle[float])
    chain(sync.bind("eu"), of_parents.bind())  # wrong
    chain(sync.bind("eu"), of_parents.bind(7))  # wrong
    chain(sync.bind("eu"), of_parents("words"))  # wrong
    chain(sync.bind("eu"), of_parents.bind("words"), keey="k")  # wrong

    chain(plain.bind("eu"), of_parents.bind("words"))  # wrong
    chain(sync.bind("eu"), plain.bind("eu"), of_parents.bind("words"))  # wrong
    chain(sync.bind("eu"), TaskSpec(text="eu"), plain.bind("eu"), of_parents.bind("words"))  # wrong
    chain(plain.bind("eu"), of_parents_with_task.bind("words"))  # wrong
    chain(gather([plain.bind("eu"), plain.bind("us")]), of_parents.bind("words"))  # wrong
    gather([plain.bind("eu"), plain.bind("us")], then=of_parents.bind("words"))  # wrong
    chain(plain.bind("eu"), gather([sync.bind("eu")], then=of_parents.bind("words")), with_task.bind("eu"))
    assert_type(await chain(TaskSpec(text="eu"), of_parents.bind("words")), TaskHandle[float])
    assert_type(await chain(sync.bind("eu"), TaskSpec(text="us"), of_parents.bind("words")), TaskHandle[float])
    assert_type(await chain(sync.bind("eu"), of_parents_with_task.bind(), of_parents.bind("")), TaskHandle[float])
    assert_type(await chain(sync.bind("eu"), TaskSpec(text="us")), TaskHandle[Any])
    assert_type(await chain(*[sync.bind("eu"), sync.bind("us")]), Any)

    counted = gather([sync.bind("eu"), sync.bind("us")], then=of_parents.bind("words"), key="counted")
    assert_type(await counted, TaskHandle[float])
    assert_type(await chain(plain.bind("eu"), counted), TaskHandle[float])
    assert_type(await chain(counted.submit, counted), TaskHandle[float])  # wrong
    assert_type(counted.submit_sync(), SyncTaskHandle[float])
    assert_type(await gather(sync.bind(region) for region in ["eu", "us"]), list[TaskHandle[int]])
    assert_type(await gather([sync.bind("eu"), TaskSpec(text="us")], then=TaskSpec(text="both")), TaskHandle[Any])
    gather([sync.bind("eu"), "us"])  # wrong
    gather([sync.bind("eu")], then="report")  # wrong
    assert_type(await of_parents(ParentValues([1, 2]), "words"), float)
    assert_type(await of_parents_with_task.submit("words"), TaskHandle[int])
    await of_parents.submit(ParentValues([1, 2]), "words")  # wrong
    await of_parents(["a"], "words")  # wrong


@stocked.register("with two")
async def with_two(pool: Pool, model: Model, region: str) -> str:
    return region


@stocked.register("with the second")
async def with_second(model: Model, region: str) -> str:
    return region


@stocked.register("with the task and the second")
def with_task_and_second(task: Task, model: Model, region: str) -> str:
    return region


@stocked.register("with all")
async def with_all(task: Task, pool: Pool, model: Model, *, copies: int) -> AsyncIterator[int]:
    yield copies


@stocked.register("with none")
async def with_none(region: str) -> bytes:
    return region.encode()


handlers.schedule("nightly", cron="0 2 * * *", name="plain", kwargs={"region": "eu"})
handlers.schedule("nightly", crom="0 2 * * *", name="plain")  # wrong
handlers.schedule("nightly", cron=2, name="plain")  # wrong


async def counted_ends(task: Task, manager: TaskManager) -> None:
    assert_type(task.batch.counts.failed, int)
    await manager.schedules.upsert("nightly", every="5m", text="hello")
    await manager.schedules.upsert("nightly", evry="5m")  # wrong


async def submit(task: Task, known: dict[str, str]) -> None:
    assert_type(await plain.submit("eu", copies=2), TaskHandle[dict[str, int]])
    await plain.submit("eu", copis=2)  # wrong
    await plain.submit(copies=2)  # wrong
    await plain.submit(7)  # wrong
    await plain.submit("eu", 2, 3)  # wrong
    plain.spec("eu", copies="2")  # wrong
    await plain.submit_many([plain.spec("eu"), plain.spec("us")])

    assert_type(sync.submit_sync("eu", copies=2), SyncTaskHandle[int])
    sync.submit_sync("eu", 2)  # wrong

    await with_task.submit("eu")
    await with_task.submit(task, "eu")  # wrong
    await with_pool.submit("eu")
    await with_pool.submit(Pool(), "eu")  # wrong
    await with_both.submit("eu")
    await with_both.submit(region=7)  # wrong
    assert_type(await with_two.submit("eu"), TaskHandle[str])
    await with_two.submit(Pool(), Model(), "eu")  # wrong
    await with_two.submit(Model(), "eu")  # wrong
    await with_second.submit(region="eu")
    await with_second.submit(7)  # wrong
    assert_type(with_task_and_second.submit_sync("eu"), SyncTaskHandle[str])
    with_task_and_second.submit_sync("eu", "us")  # wrong
    assert_type(await with_all.submit(copies=2), TaskHandle[int])
    await with_all.submit(2)  # wrong
    await with_none.submit(Pool(), "eu")  # wrong
    assert_type(await with_two(Pool(), Model(), "eu"), str)
    await with_two("eu")  # wrong

    assert_type(await generator.submit(3), TaskHandle[float])
    assert_type(await of_anything.submit({"any": "thing"}, more=2), TaskHandle[int])

    assert_type(await plain("eu", copies=2), dict[str, int])
    assert_type(await with_task(task, "eu"), str)
    await plain("eu", copis=2)  # wrong

    await plain.options(lane="high", delay=5, metadata=known).submit("eu")
    plain.options(dely=5)  # wrong
    plain.options(delay="5")  # wrong
    await plain.options(lane="high").submit("eu", copis=2)  # wrong

    await plain.every(300, id="plain", overlap="allow").schedule("eu", copies=2)
    await plain.every(300, id="plain").schedule("eu", copis=2)  # wrong
    plain.every(300, id="plain").declare("eu", copies=2)
    plain.cron("0 6 * * *", id="plain").declare("eu", copis=2)  # wrong
    plain.every(300)  # wrong
    plain.cron("0 6 * * *", id="plain", zone="UTC")  # wrong
    await plain.rrule("FREQ=DAILY;BYHOUR=6", id="plain", timezone="Europe/Berlin").schedule("eu")
    await plain.rrule("FREQ=DAILY", id="plain").schedule(7)  # wrong
    plain.rrule(3600, id="plain")  # wrong
    await plain.at(datetime(2030, 1, 1, tzinfo=UTC), id="plain").schedule(region="eu")
    plain.at("2030-01-01T00:00:00Z", id="plain").schedule_sync(copies=2)  # wrong
    plain.at(id="plain")  # wrong

    async for part in (await plain.submit("eu")).stream(after=3):
        assert_type(part, EmittedPart)
    (await plain.submit("eu")).stream(3)  # wrong
    await task.emit({"any": ["value"]})
    await task.emit()  # wrong

    async with create_broker(handlers=pooled) as broker, broker.working(stocked):
        await broker.manager.run_task("hello")
    create_broker(handlers=Pool())  # wrong

    handle = await plain.submit("eu")
    assert_type((await handle.wait()).value, dict[str, int] | None)
    assert_type((await handle.wait(raise_failed=True)).value, dict[str, int])
    assert_type((await handle.manager.wait(handle.task_id)).value, Any)
