"""The producer's API against a real store; what a worker does to tasks is done through the store's worker role."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.query import outcomes
from holdfast.client.submission import CHUNK
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted, Submission
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.outcomes import read_result
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.worker_records import Introduction
from holdfast.errors import (
    CannotRetryError,
    InvalidTaskError,
    MessageConflictError,
    StoreUnavailableError,
    TaskEndedError,
    UnknownTaskError,
)
from holdfast.store import open_store
from holdfast_config import RedisSettings

if TYPE_CHECKING:
    from holdfast.store import Store

pytestmark = pytest.mark.anyio
AT_ONCE = SubmitRetries(first_wait=0.0, longest_wait=0.0)
DONE = b'{"state":"completed","parts":[{"kind":"text","text":"done"}]}'


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[Store]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
def manager(store: Store, redis_settings: RedisSettings) -> TaskManager:
    return TaskManager(store, queue=redis_settings.queue, retries=AT_ONCE)


class Worker:
    """Takes and settles tasks, when told to."""

    def __init__(self, store: Store, queue: str) -> None:
        self._store, self._queue = store, queue
        self._incarnation, self._request = uuid4().hex, 0

    async def take(self, slots: int = 100) -> list[Delivery]:
        if not self._request:
            await self._store.register(Introduction(self._incarnation, "host", "boot", 1, 0))
        return await self._pull(slots, [])

    async def settle(self, delivery: Delivery, kind: Settle = Settle.COMPLETED, result: bytes = DONE) -> None:
        await self._pull(0, [Settlement(delivery.task_id, delivery.claim, kind, result)])

    async def run(self) -> None:
        for delivery in await self.take():
            await self.settle(delivery)

    async def _pull(self, slots: int, settlements: Sequence[Settlement]) -> list[Delivery]:
        self._request += 1
        pulled = await self._store.pull(self._incarnation, self._request, slots, [self._queue], settlements)
        return list(pulled.deliveries)


@pytest.fixture
def worker(store: Store, redis_settings: RedisSettings) -> Worker:
    return Worker(store, redis_settings.queue)


class Lossy:
    """A store whose answers are lost: each call named in `losses` is performed and then fails, that many times.
    The first calls, as many as are `spared`, do not fail."""

    def __init__(self, store: Store, losses: dict[str, int], spared: int = 0) -> None:
        self._store = store
        self.spared = spared
        self.losses = losses
        self.seen: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Awaitable[Any]] = getattr(self._store, name)
        return self._losing(name, call) if name in self.losses else call

    def _losing(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def lost(*args: Any, **kwargs: Any) -> Any:
            self.seen.append(args)
            answer = await call(*args, **kwargs)
            if self.spared:
                self.spared -= 1
            elif self.losses[name]:
                self.losses[name] -= 1
                raise StoreUnavailableError("the answer was lost")
            return answer

        return lost


async def test_a_task_is_submitted_run_and_known(manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("hello", lane=None, max_attempts=5, timeout=2.5)
    (delivery,) = await worker.take()
    assert (delivery.task_id, delivery.max_attempts, delivery.timeout_ms) == (task_id, 5, 2500)
    await worker.settle(delivery)
    record = await manager.get_task(task_id)
    assert record.state is State.COMPLETED
    assert read_result(record.result).value == "done"


async def test_a_batch_keeps_its_order_over_chunks(manager: TaskManager, store: Store, worker: Worker) -> None:
    ids = await manager.run_tasks(TaskSpec(text=str(n)) for n in range(2 * CHUNK + 1))
    assert [one.task_id for one in await worker.take(1000)] == ids[:1000]
    assert len(ids) == 2 * CHUNK + 1


async def test_nothing_of_a_batch_is_written_when_one_is_bad(manager: TaskManager) -> None:
    with pytest.raises(InvalidTaskError):
        await manager.run_tasks([TaskSpec(text="x")] * 150 + [TaskSpec()])
    assert await manager.count_tasks() == 0


async def test_a_lost_answer_is_asked_for_again_with_the_same_bytes(
    store: Store, redis_settings: RedisSettings
) -> None:
    lossy = Lossy(store, {"submit": 2})
    manager = TaskManager(lossy, queue=redis_settings.queue, retries=AT_ONCE)
    await manager.run_task("x")
    assert len(lossy.seen) == 3
    assert lossy.seen[0] == lossy.seen[1] == lossy.seen[2]
    assert await manager.queue_length() == 1


async def test_patience_ends_with_the_error_of_the_store(store: Store, redis_settings: RedisSettings) -> None:
    lossy = Lossy(store, {"submit": 1000})
    patience = SubmitRetries(attempts=3, first_wait=0.0, longest_wait=0.0)
    manager = TaskManager(lossy, queue=redis_settings.queue, retries=patience)
    with pytest.raises(StoreUnavailableError) as given_up:
        await manager.run_tasks([TaskSpec(text="x")] * 150)
    assert len(lossy.seen) == 3
    assert given_up.value.__notes__ == ["0 of 150 tasks were accepted before this error"]


CALLS: dict[str, Callable[[TaskManager], Awaitable[object]]] = {
    "one": lambda manager: manager.run_task("x"),
    "one with options": lambda manager: manager.run_task("x", unique="u"),
    "one that is prepared": lambda manager: manager.submit([manager.prepare(TaskSpec(text="x"))]),
    "a list": lambda manager: manager.run_tasks([TaskSpec(text="x")]),
}


@pytest.mark.parametrize("call", CALLS)
async def test_an_error_says_how_many_tasks_were_accepted_before_it(
    store: Store, redis_settings: RedisSettings, call: str
) -> None:
    lossy = Lossy(store, {"submit": 1000, "submit_with_options": 1000})
    patience = SubmitRetries(attempts=1, first_wait=0.0, longest_wait=0.0)
    with pytest.raises(StoreUnavailableError) as given_up:
        await CALLS[call](TaskManager(lossy, queue=redis_settings.queue, retries=patience))
    assert given_up.value.__notes__ == ["0 of 1 tasks were accepted before this error"]


async def test_an_error_counts_the_chunks_that_were_taken(store: Store, redis_settings: RedisSettings) -> None:
    lossy = Lossy(store, {"submit": 1000}, spared=1)
    manager = TaskManager(lossy, queue=redis_settings.queue, retries=SubmitRetries(attempts=1))
    with pytest.raises(StoreUnavailableError) as given_up:
        await manager.submit([manager.prepare(TaskSpec(text="x"))] * (2 * CHUNK + 1))
    assert given_up.value.__notes__ == [f"{CHUNK} of {2 * CHUNK + 1} tasks were accepted before this error"]


async def test_the_time_of_the_first_try_counts() -> None:
    """The first try alone takes the time that a producer has: no second one follows. Time passes in fact."""
    tries, patience = 0, SubmitRetries(seconds=0.05, first_wait=0.0, longest_wait=0.0)

    async def fail() -> None:
        nonlocal tries
        tries += 1
        begun = time.monotonic()
        while time.monotonic() - begun < patience.seconds:
            await anyio.lowlevel.checkpoint()
        raise StoreUnavailableError("away")

    with pytest.raises(StoreUnavailableError):
        await patience.call(fail)
    assert tries == 1


async def test_only_an_absent_store_is_asked_again(store: Store, redis_settings: RedisSettings) -> None:
    lossy = Lossy(store, {"get": 0})
    with pytest.raises(UnknownTaskError):
        await TaskManager(lossy, queue=redis_settings.queue, retries=AT_ONCE).get_task("nobody")
    assert len(lossy.seen) == 1


async def test_the_same_call_twice_is_one_task(manager: TaskManager) -> None:
    assert [await manager.run_task("x", task_id="t-1") for _ in range(2)] == ["t-1", "t-1"]
    assert await manager.queue_length() == 1


async def test_the_same_message_id_with_other_content_is_a_conflict(manager: TaskManager) -> None:
    await manager.run_task("x", task_id="t-1", message_id="m-1")
    with pytest.raises(MessageConflictError, match=r"m-1 of task t-1"):
        await manager.run_task("y", task_id="t-1", message_id="m-1")


async def test_an_ended_task_takes_no_message(manager: TaskManager) -> None:
    await manager.run_task("x", task_id="t-1")
    await manager.cancel_task("t-1")
    with pytest.raises(TaskEndedError, match=r"t-1"):
        await manager.run_task("y", task_id="t-1")


async def test_a_refusal_does_not_keep_out_the_others(manager: TaskManager) -> None:
    await manager.run_task("x", task_id="t-1")
    await manager.cancel_task("t-1")
    with pytest.raises(TaskEndedError):
        await manager.run_tasks([TaskSpec(text="y", task_id="t-1"), TaskSpec(text="z", task_id="t-2")])
    assert (await manager.get_task("t-2")).state is State.SUBMITTED


async def test_submit_tells_what_became_of_each(manager: TaskManager) -> None:
    batch: list[Submission] = [manager.prepare(TaskSpec(text="x", task_id=task_id)) for task_id in ("a", "b")]
    assert [one.accepted for one in await manager.submit(batch[:1])] == [Accepted.NEW]
    assert [one.accepted for one in await manager.submit(batch)] == [Accepted.DUPLICATE, Accepted.NEW]


async def test_cancel_answers_the_state_that_holds(manager: TaskManager, worker: Worker) -> None:
    waiting, ran = await manager.run_tasks([TaskSpec(text="x", delay=3600), TaskSpec(text="y")])
    await worker.run()
    assert await manager.cancel_task(waiting) is State.CANCELED
    assert await manager.cancel_task(ran) is State.COMPLETED
    with pytest.raises(UnknownTaskError):
        await manager.cancel_task("nobody")


async def test_a_failed_task_is_retried_once_and_waited_for(manager: TaskManager, worker: Worker) -> None:
    await manager.run_task("x", task_id="t")
    [delivery] = await worker.take()
    await worker.settle(delivery, Settle.EXHAUSTED)
    assert [task.task_id for task in (await manager.dead_letters()).tasks] == ["t"]
    assert {await manager.retry_task("t") for _ in range(2)} == {"t.r1"}
    await worker.run()
    assert (await manager.wait("t.r1", 60)).state is State.COMPLETED
    assert (await manager.dead_letters()).tasks == ()
    for bad in ("t.r1", "a b"):
        with pytest.raises((CannotRetryError, InvalidTaskError), match=r"has completed|letters, digits"):
            await manager.retry_task(bad)
    with pytest.raises(UnknownTaskError):
        await manager.retry_task("nobody")


async def test_dead_letters_are_deleted(manager: TaskManager, worker: Worker) -> None:
    for task_id in ("a", "b"):
        await manager.run_task("x", task_id=task_id)
    for delivery in await worker.take():
        await worker.settle(delivery, Settle.EXHAUSTED)
    assert await manager.purge_dead_letters([]) == 0
    assert await manager.purge_dead_letters(["a", "nobody"]) == 1
    assert [task.task_id for task in (await manager.dead_letters()).tasks] == ["b"]
    with pytest.raises(UnknownTaskError):
        await manager.get_task("a")


async def test_pause_parks_and_resume_queues_again(manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("x")
    assert await manager.pause_task(task_id) is State.SUSPENDED
    assert await worker.take() == []
    assert await manager.resume_task(task_id) is State.SUBMITTED
    assert [delivery.task_id for delivery in await worker.take()] == [task_id]


async def test_resume_with_a_message_answers_a_question(manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("x")
    (delivery,) = await worker.take()
    await worker.settle(delivery, Settle.INPUT_REQUIRED)
    assert await manager.resume_task(task_id, "the answer") is State.SUBMITTED
    (delivery,) = await worker.take()
    assert delivery.turn == 2
    assert b"the answer" in delivery.operation


async def test_tasks_are_listed_and_counted_by_state(manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text="x")] * 5 + [TaskSpec(text="x", delay=60)])
    assert await manager.count_tasks() == 6
    assert await manager.count_tasks("delayed") == 1
    assert await manager.count_tasks(State.SUBMITTED, "delayed") == 6
    page = await manager.list_tasks("submitted", limit=3)
    rest = await manager.list_tasks("submitted", limit=3, cursor=page.cursor)
    assert len({task.task_id for task in page.tasks + rest.tasks}) == 5
    with pytest.raises(InvalidTaskError, match="lost"):
        await manager.list_tasks("lost")
    with pytest.raises(InvalidTaskError, match="limit 0"):
        await manager.list_tasks(limit=0)


async def test_the_queue_is_measured_and_cleared_by_lane(manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text="x")] * (CHUNK + 1) + [TaskSpec(text="x", lane="high")])
    assert await manager.queue_length() == CHUNK + 2
    assert await manager.queue_length("high") == 1
    assert await manager.clear_queue() == CHUNK + 1
    assert await manager.queue_length() == 1
    assert await manager.clear_queue("high") == 1
    assert await manager.count_tasks(State.CANCELED) == CHUNK + 2


async def test_health_tells_whether_the_store_answers(manager: TaskManager, store: Store) -> None:
    assert await manager.health_check()
    async with open_store(RedisSettings("redis://localhost:1")) as absent:
        assert not await TaskManager(absent, queue="q").health_check()


async def test_wait_answers_what_has_ended_before(manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("x")
    await worker.run()
    record = await manager.wait(task_id)
    assert (record.state, record.result) == (State.COMPLETED, DONE)


async def test_wait_ends_when_the_task_asks_for_something(manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("x")
    (delivery,) = await worker.take()
    await worker.settle(delivery, Settle.INPUT_REQUIRED)
    assert (await manager.wait(task_id)).state is State.INPUT_REQUIRED


async def test_wait_is_told_without_asking_again(store: Store, redis_settings: RedisSettings, worker: Worker) -> None:
    counting = Lossy(store, {"get": 0})
    manager = TaskManager(counting, queue=redis_settings.queue)
    task_id = await manager.run_task("x")
    records: list[TaskRecord] = []

    async def wait() -> None:
        records.append(await manager.wait(task_id))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        while not counting.seen:  # until it has looked, and waits
            await anyio.lowlevel.checkpoint()
        await worker.run()
    assert records[0].state is State.COMPLETED
    assert len(counting.seen) == 3  # a look that finds it waiting, one that finds it settled, one with its result


async def test_wait_goes_on_over_retries_and_later_turns(manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("first", task_id="t-1")
    await manager.run_task("second", task_id="t-1")
    records: list[TaskRecord] = []

    async def wait() -> None:
        records.append(await manager.wait(task_id))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await worker.run()
        assert not records
        await worker.run()
    assert records[0].turn == 2


async def test_wait_all_yields_each_as_it_ends(manager: TaskManager, worker: Worker) -> None:
    ids = await manager.run_tasks(TaskSpec(text=str(n)) for n in range(50))
    deliveries = {delivery.task_id: delivery for delivery in await worker.take()}
    order = list(reversed(ids))
    await worker.settle(deliveries[order[0]])
    seen: list[str] = []
    async with aclosing(manager.wait_all(ids)) as records:
        async for record in records:
            seen.append(record.task_id)
            if len(seen) < len(order):
                await worker.settle(deliveries[order[len(seen)]])
    assert seen == order


async def test_wait_all_of_nothing_is_nothing(manager: TaskManager) -> None:
    assert [record async for record in manager.wait_all([])] == []


async def test_wait_gives_up_in_time(manager: TaskManager) -> None:
    task_id = await manager.run_task("x")
    with pytest.raises(TimeoutError, match=task_id):
        await manager.wait(task_id, timeout=0.01)


async def test_waiting_for_an_unknown_task_is_an_error(manager: TaskManager) -> None:
    with pytest.raises(UnknownTaskError):
        await manager.wait("nobody")


async def test_wait_outlives_its_subscription(store: Store, manager: TaskManager, worker: Worker) -> None:
    import redis.asyncio

    task_id = await manager.run_task("x")
    records: list[TaskRecord] = []

    async def wait() -> None:
        records.append(await manager.wait(task_id))

    async with redis.asyncio.Redis.from_url(store_url(store)) as admin, anyio.create_task_group() as group:
        group.start_soon(wait)
        while not await subscribers(admin, task_id):
            await anyio.lowlevel.checkpoint()
        await admin.client_kill_filter(_type="pubsub")
        await worker.run()
    assert records[0].state is State.COMPLETED


class Deaf(Lossy):
    """A store whose notices never come."""

    async def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        yield ""
        await anyio.sleep_forever()


async def test_a_notice_that_is_lost_costs_only_time(store: Store, manager: TaskManager, worker: Worker) -> None:
    task_id = await manager.run_task("x")
    deaf = Deaf(store, {"get": 0})

    async def get(task_id: str, payloads: bool) -> TaskRecord:
        record = await deaf.get(task_id, payloads=payloads)
        if len(deaf.seen) == 1:
            await worker.run()  # just after the first look
        return record

    async with aclosing(outcomes(deaf, get, [task_id], quiet=0.01)) as records:
        assert (await anext(records)).state is State.COMPLETED


def store_url(store: Any) -> str:
    return str(store.url)


async def subscribers(admin: Any, task_id: str) -> int:
    channels = await admin.pubsub_channels(f"*done:{task_id}")
    return len(channels)


async def test_an_application_that_logs_debug_hears_of_each_submission(
    store: Store, redis_settings: RedisSettings, caplog: pytest.LogCaptureFixture
) -> None:
    manager = TaskManager(store, queue=redis_settings.queue)
    await manager.run_task("quiet")
    assert caplog.records == []
    with caplog.at_level("DEBUG", "holdfast.client.manager"):
        await manager.run_tasks([TaskSpec(text="x", task_id=f"t{number}") for number in range(150)])
    said = [(record.__dict__["task"], record.__dict__["lane"], record.__dict__["answer"]) for record in caplog.records]
    assert said == [(f"t{number}", redis_settings.queue, "new") for number in range(150)]
