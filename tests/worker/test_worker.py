"""A worker process on a real server: what it runs, what it settles, how it is steered and how it ends."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from holdfast.core.acceptance import Accepted, Submission
from holdfast.core.messages import call_part, text_part
from holdfast.core.task_states import PARKED, TERMINAL, State
from holdfast.core.tasks import TaskRecord
from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed, Drained
from holdfast.os import locks
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast.store.redis.scripts import build
from holdfast_config import RedisSettings
from tests.envelopes import build_run
from tests.worker.processes import PATIENCE, WorkerProcess, booting, worker

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractContextManager[WorkerProcess]]


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
def client(redis_settings: RedisSettings) -> Iterator[Any]:
    """Lists that the handlers speak through live beside the queue; they are this test's own while it runs."""
    import redis

    with redis.Redis.from_url(redis_settings.url, decode_responses=True) as opened:
        opened.delete("started", "stopped")
        yield opened


@pytest.fixture
def start(redis_settings: RedisSettings, short_path: Path) -> Start:
    def begin(handler: str, **flags: object) -> AbstractContextManager[WorkerProcess]:
        return worker(handler, folder=short_path, url=redis_settings.url, queue=redis_settings.queue, **flags)

    return begin


async def submit(store: RedisStore, *words: str, **options: Any) -> None:
    built = [(word, build_run(word, [text_part(word)])) for word in words]
    lane = store.connection.keys.queue
    answers = await store.submit(
        [Submission(word, b.message_id, b.digest, b.operation, lane, **options) for word, b in built]
    )
    assert set(answers) == {Accepted.NEW}


async def submit_parts(store: RedisStore, task_id: str, parts: list[Any], **options: Any) -> Accepted:
    built = build_run(task_id, parts, **options)
    what = (task_id, built.message_id, built.digest, built.operation, store.connection.keys.queue)
    [told] = await store.submit([Submission(*what, name="deploy")])
    return told


async def settled(store: RedisStore, task_id: str, *states: State) -> TaskRecord:
    """The task once it is in one of these states."""
    wanted = states or (*TERMINAL, *PARKED)
    with anyio.fail_after(PATIENCE):
        notices = store.settled([task_id])
        await anext(notices)
        while True:
            record = await store.get(task_id)
            if record and record.state in wanted:
                return record
            await anext(notices)


def started(client: Any) -> tuple[str, int, int]:
    """Word, delivery and process id of the next handler that starts."""
    popped = client.blpop(["started"], timeout=PATIENCE)
    assert popped, "no handler started"
    word, delivery, pid = popped[1].split()
    return word, int(delivery), int(pid)


def answer(record: TaskRecord) -> Any:
    assert record.result
    part = json.loads(record.result)["parts"][0]
    return part.get("text", part.get("data"))


async def test_task_is_run_and_its_answer_kept(store: RedisStore, start: Start) -> None:
    with start("echo"):
        await submit(store, "hello")
        record = await settled(store, "hello")
    assert (record.state, answer(record)) == (State.COMPLETED, "hello")


async def test_sync_handler_runs_in_a_thread(store: RedisStore, start: Start) -> None:
    with start("echo_in_thread"):
        await submit(store, "hello")
        assert answer(await settled(store, "hello")) == "hello in True"


async def test_generator_answers_with_its_last_value(store: RedisStore, start: Start) -> None:
    with start("count_up"):
        await submit(store, "n")
        assert answer(await settled(store, "n")) == 2


async def test_task_submitted_before_the_worker_started_is_run(store: RedisStore, start: Start) -> None:
    await submit(store, "early")
    with start("echo"):
        assert (await settled(store, "early")).state is State.COMPLETED


async def test_no_more_handlers_run_at_once_than_the_concurrency_allows(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("wait", concurrency=2):
        await submit(store, "a", "b", "c")
        assert {started(client)[0], started(client)[0]} == {"a", "b"}
        record = await store.get("c")
        assert record
        assert record.state is State.SUBMITTED
        client.rpush("go:a", "1")
        assert started(client)[0] == "c"


async def test_full_worker_hears_the_bell_again_once_it_has_a_free_slot(
    store: RedisStore, start: Start, client: Any
) -> None:
    """It does not wait for the end of a poll or for a renewal."""
    with start("wait", concurrency=1, redis_poll_timeout=2 * PATIENCE, lease=10 * PATIENCE):
        await submit(store, "a")
        started(client)
        client.rpush("go:a", "1")
        await settled(store, "a")
        await submit(store, "b")
        assert started(client)[0] == "b"


async def test_exception_is_kept_with_its_type_and_message(store: RedisStore, start: Start) -> None:
    with start("fail", max_attempts=1):
        await submit(store, "boom")
        record = await settled(store, "boom")
    assert record.state is State.FAILED
    assert record.dead
    assert record.result
    error = json.loads(record.result)["error"]
    assert (error["type"], error["message"]) == ("ValueError", "boom")


async def test_exception_is_retried_until_its_attempts_are_used_up(store: RedisStore, start: Start) -> None:
    with start("fail", max_attempts=3, retry_base=0.01):
        await submit(store, "boom")
        record = await settled(store, "boom")
    assert (record.state, record.deliveries, record.attempts) == (State.FAILED, 3, 3)


async def test_retry_waits_in_the_store_and_not_in_the_worker(store: RedisStore, start: Start) -> None:
    with start("fail_once"):
        await submit(store, "again")
        assert answer(await settled(store, "again")) == "attempt 1"


async def test_rejected_task_is_not_retried(store: RedisStore, start: Start) -> None:
    with start("reject"):
        await submit(store, "no")
        record = await settled(store, "no")
    assert (record.state, record.deliveries) == (State.REJECTED, 1)


async def test_question_parks_the_task_and_the_answer_runs_the_next_turn(store: RedisStore, start: Start) -> None:
    with start("ask"):
        await submit(store, "q")
        assert (await settled(store, "q")).state is State.INPUT_REQUIRED
        built = build_run("q", [text_part("this one")])
        submission = Submission("q", built.message_id, built.digest, built.operation, store.connection.keys.queue)
        assert await store.submit([submission]) == [Accepted.TURN]
        record = await settled(store, "q", State.COMPLETED)
    assert record.turn == 2
    assert answer(record) == ["q", "which one?", "this one"]


async def test_timeout_cancels_the_handler(store: RedisStore, start: Start, client: Any) -> None:
    with start("wait", task_timeout=0.05, max_attempts=1):
        await submit(store, "slow")
        record = await settled(store, "slow")
    assert record.state is State.FAILED
    assert "TaskTimeout" in record.reason


@pytest.mark.parametrize(
    ("handler", "reason"),
    [("cancel_itself", "CancelledError: the handler's own asyncio task was cancelled"), ("leave_scope_open", "scope")],
)
async def test_whatever_leaves_a_delivery_ends_it_and_frees_its_slot(
    store: RedisStore, start: Start, handler: str, reason: str
) -> None:
    with start(handler, concurrency=1, max_attempts=1, task_timeout=PATIENCE) as process:
        await submit(store, "odd", "well")
        record = await settled(store, "odd")
        assert (record.state, record.crashes) == (State.FAILED, 0)
        assert reason in record.reason
        assert answer(await settled(store, "well")) == "well"
        process.drain()
        assert process.expect(Drained).released == 0
        assert process.wait() == ChildExit.OK


async def test_handler_that_cancels_every_task_of_its_process_costs_no_more_than_its_worker(
    store: RedisStore, start: Start
) -> None:
    with start("cancel_everything") as process:
        await submit(store, "sweep")
        assert process.wait() != ChildExit.OK
        await store.recover(process.incarnation, "signal:9", charged=True)
    with start("cancel_everything"):
        assert answer(await settled(store, "sweep", State.COMPLETED)) == "well"


async def test_handler_that_survives_its_own_cancellation_is_still_stopped(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("cancel_itself_and_wait") as process:
        await submit(store, "paused", "canceled", "answers", "released")
        for _ in range(4):
            started(client)
        assert await store.pause("paused", "test") == "working"
        await settled(store, "paused", State.SUSPENDED)
        assert await store.cancel("canceled", "test") == "canceled"
        client.rpush("go:answers", "1")
        assert answer(await settled(store, "answers")) == "answers done"
        process.drain(cancel_after=0.0)
        assert process.expect(Drained).released == 1
        assert process.wait() == ChildExit.OK
    assert sorted(client.lrange("stopped", 0, -1)) == ["canceled", "paused", "released"]


async def test_timeout_ends_a_handler_that_survives_its_own_cancellation(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("cancel_itself_and_wait", task_timeout=0.05, max_attempts=1):
        await submit(store, "slow")
        record = await settled(store, "slow")
    assert record.state is State.FAILED
    assert "TaskTimeout" in record.reason


async def test_cancel_reaches_a_running_handler(store: RedisStore, start: Start, client: Any) -> None:
    with start("wait"):
        await submit(store, "victim")
        started(client)
        assert await store.cancel("victim", "test") == "canceled"
        assert client.blpop(["stopped"], timeout=PATIENCE) == ("stopped", "victim")
    record = await store.get("victim")
    assert record
    assert record.state is State.CANCELED


async def test_pause_parks_with_the_checkpoint_and_resume_goes_on_from_it(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("saving"):
        await submit(store, "long")
        started(client)
        assert await store.pause("long", "test") == "working"
        record = await settled(store, "long", State.SUSPENDED)
        assert record.checkpoint == b'{"step":3}'
        assert await store.resume("long", "test") == "submitted"
        assert answer(await settled(store, "long", State.COMPLETED)) == {"resumed from": {"step": 3}}


async def test_a_message_that_resumes_a_paused_task_joins_its_turn_which_runs_once_more(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("talks"):
        call = [call_part("deploy", {"region": "eu"})]
        await submit_parts(store, "deploy", call, history_length=1)
        started(client)
        assert await submit_parts(store, "deploy", [text_part("meanwhile")]) is Accepted.PENDING
        assert await store.pause("deploy", "test") == "working"
        assert (await settled(store, "deploy", State.SUSPENDED)).turn == 1
        assert await submit_parts(store, "deploy", [text_part("use the other cluster")]) is Accepted.TURN
        record = await settled(store, "deploy", State.COMPLETED)
    assert answer(record) == {
        "region": "eu",
        "heard": ["", "meanwhile", "use the other cluster"],
        "checkpoint": {"step": 3},
        "attempts": 0,
        "keys": ["deploy:1", "deploy:3"],
    }
    assert (record.turn, record.deliveries, record.pending) == (3, 2, 0)


async def test_a_message_of_many_that_join_a_turn_is_never_cut_from_it(store: RedisStore, start: Start) -> None:
    """One answer of the store has no room for all of them."""
    texts = [f"{number:02}" + "x" * 200_000 for number in range(12)]
    await submit_parts(store, "deploy", [call_part("deploy", {"region": "eu"})])
    for text in texts[:-1]:
        assert await submit_parts(store, "deploy", [text_part(text)]) is Accepted.PENDING
    assert await store.pause("deploy", "test") == "suspended"
    await submit_parts(store, "deploy", [text_part(texts[-1])])
    with start("talks"):
        record = await settled(store, "deploy", State.COMPLETED)
    assert answer(record)["heard"] == ["", *(text[:24] for text in texts)]


async def test_a_store_that_forgets_a_turn_gets_that_turn_and_not_the_result_of_the_next(
    store: RedisStore, start: Start, client: Any
) -> None:
    await submit(store, "first")
    keys = await store.connection.command("KEYS", f"*{store.connection.keys.queue}*")
    before = {key: await store.connection.command("DUMP", key) for key in keys}
    with start("wait"):
        assert started(client)[0] == "first"
        built = build_run("first", [text_part("second")])
        message = Submission("first", built.message_id, built.digest, built.operation, store.connection.keys.queue)
        assert await store.submit([message]) == [Accepted.PENDING]
        client.rpush("go:first", "1")
        assert started(client)[0] == "second"
        with client.pipeline() as setting_back:  # at one moment, as the worker goes on writing
            setting_back.delete(*client.keys(f"*{store.connection.keys.queue}*"))
            for key, value in before.items():
                setting_back.restore(key, 0, value, replace=True)
            setting_back.execute()
        assert client.blpop(["stopped"], timeout=PATIENCE) == ("stopped", "second")
        assert started(client)[0] == "first"
        client.rpush("go:first", "1")
        record = await settled(store, "first")
    assert (record.state, record.turn, answer(record)) == (State.COMPLETED, 1, "first done")


async def test_result_that_is_broken_json_fails_its_task_and_the_next_one_runs(store: RedisStore, start: Start) -> None:
    with start("raw", max_attempts=1) as process:
        words = ["torn", "bytes", "nothing", "two", "whole"]
        await submit(store, *words)
        records = [await settled(store, word) for word in words]
        assert [record.state for record in records] == [*[State.FAILED] * 4, State.COMPLETED]
        assert "msgspec.Raw" in records[0].reason
        assert answer(records[-1]) == {"it": {"a": [None]}}
        process.drain()
        assert process.wait() == ChildExit.OK


async def test_operation_that_only_the_worker_finds_unreadable_is_set_aside(store: RedisStore, start: Start) -> None:
    raw = b'{"operation":"run","params":{"task_id":"odd","message":{"message_id":"m","parts":"none"}}}'
    await store.connection.command("RPUSH", store.connection.keys.queue, raw)
    with start("echo"):
        record = await settled(store, "odd")
    assert record.state is State.REJECTED
    assert [item.raw for item in await store.unreadable(10)] == [raw]


async def test_large_entry_is_read_by_the_worker(store: RedisStore, start: Start) -> None:
    text = "x" * 100_000
    await store.connection.command("RPUSH", store.connection.keys.queue, build_run("big", [text_part(text)]).operation)
    with start("echo"):
        assert answer(await settled(store, "big")) == text


async def test_deeply_nested_entry_is_set_aside_and_the_next_one_runs(store: RedisStore, start: Start) -> None:
    deep = b'{"operation":"run","params":{"task_id":"deep","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    await store.connection.command(
        "RPUSH", store.connection.keys.queue, deep, build_run("next", [text_part("next")]).operation
    )
    with start("echo") as process:
        assert (await settled(store, "next")).state is State.COMPLETED
        process.drain()
        assert process.wait() == ChildExit.OK
    assert [item.size for item in await store.unreadable(10)] == [len(deep)]


async def test_drained_idle_worker_leaves_at_once(start: Start) -> None:
    with start("echo") as process:
        process.drain()
        assert process.expect(Drained).released == 0
        assert process.wait() == ChildExit.OK


async def test_drain_lets_a_running_handler_finish(store: RedisStore, start: Start, client: Any) -> None:
    with start("wait") as process:
        await submit(store, "a", "b")
        words = {started(client)[0], started(client)[0]}
        process.drain()
        for word in words:
            client.rpush(f"go:{word}", "1")
        assert process.wait() == ChildExit.OK
    for word in words:
        record = await store.get(word)
        assert record
        assert record.state is State.COMPLETED


async def test_drain_past_its_time_releases_in_order_uncharged_with_the_checkpoint(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("saving") as process:
        await submit(store, "a", "b", "c")
        for _ in "abc":
            started(client)
        process.drain(cancel_after=0.0)
        assert process.expect(Drained).released == 3
        assert process.wait() == ChildExit.OK
    entries = [
        msgspec.json.decode(raw)["_b"].partition(":")[0]
        for raw in await store.peek_entries(store.connection.keys.queue, 9)
    ]
    assert entries == ["a", "b", "c"]
    record = await store.get("a")
    assert record
    assert (record.state, record.releases, record.crashes, record.checkpoint) == (State.SUBMITTED, 1, 0, b'{"step":3}')


async def test_draining_worker_claims_nothing(store: RedisStore, start: Start, client: Any) -> None:
    with start("wait") as process:
        await submit(store, "a")
        started(client)
        process.drain()
        while [worker.state for worker in await store.workers()] != ["draining"]:
            pass
        await submit(store, "b")
        client.rpush("go:a", "1")
        assert process.wait() == ChildExit.OK
    record = await store.get("b")
    assert record
    assert (record.state, record.deliveries) == (State.SUBMITTED, 0)


async def test_sigterm_drains(store: RedisStore, start: Start) -> None:
    with start("echo") as process:
        process.kill(signal.SIGTERM)
        assert process.wait() == ChildExit.OK


async def test_orphaned_worker_finishes_and_leaves(store: RedisStore, start: Start, client: Any) -> None:
    with start("wait") as process:
        await submit(store, "a")
        started(client)
        process.channel.close()
        client.rpush("go:a", "1")
        assert process.wait() == ChildExit.ORPHANED
    record = await store.get("a")
    assert record
    assert record.state is State.COMPLETED


async def test_worker_declared_dead_cancels_everything_and_ends_fenced(
    store: RedisStore, start: Start, client: Any
) -> None:
    with start("wait", lease=0.3) as process:
        await submit(store, "a")
        started(client)
        assert await store.recover(process.incarnation, "test", charged=True) == 1
        assert process.wait() == ChildExit.FENCED
    assert client.lpop("stopped") == "a"
    record = await store.get("a")
    assert record
    assert (record.state, record.crashes) == (State.SUBMITTED, 1)


async def test_worker_that_the_store_has_lost_registers_anew(store: RedisStore, start: Start, client: Any) -> None:
    with start("echo", lease=0.3) as process:
        for key in await store.connection.command("KEYS", f"{store.connection.keys.prefix}*"):
            await store.connection.command("DEL", key)
        await submit(store, "after")
        assert (await settled(store, "after")).state is State.COMPLETED
        workers = await store.workers()
    assert [w.incarnation for w in workers] == [process.incarnation]


async def test_lost_cancel_hint_costs_no_more_than_a_renewal(store: RedisStore, start: Start, client: Any) -> None:
    with start("wait", lease=0.3) as process:
        await submit(store, "a")
        started(client)
        with client.pipeline(transaction=True) as pipeline:
            pipeline.eval(build("cancel").source, 1, store.connection.keys.queue, "a", "test")
            pipeline.delete(store.connection.keys["control"] + process.incarnation)
            pipeline.execute()
        assert client.blpop(["stopped"], timeout=PATIENCE) == ("stopped", "a")


async def test_strict_fence_ends_a_worker_whose_loop_is_held(store: RedisStore, start: Start, client: Any) -> None:
    with start("block", fence="strict", lease=0.5) as process:
        await submit(store, "a")
        started(client)
        assert process.wait() == -signal.SIGALRM


async def test_thread_that_will_not_stop_costs_its_worker(
    store: RedisStore, start: Start, client: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with start("wait_in_thread", task_timeout=0.05, drain_timeout=0.5) as process:
        await submit(store, "a")
        started(client)
        assert process.wait() == ChildExit.STUCK
    line = next(each for each in capfd.readouterr().err.splitlines() if "its thread goes on" in each)
    assert "supervisor stacks a shows its line" in line
    record = await store.get("a")
    assert record
    assert record.state is State.WORKING, "it settles only when its process has ended, by recovery"


async def test_handler_that_cannot_be_imported_is_a_failed_boot(
    redis_settings: RedisSettings, short_path: Path
) -> None:
    with booting(
        "tests.worker.nothing_here:handle", folder=short_path, url=redis_settings.url, queue=redis_settings.queue
    ) as process:
        failed = process.expect(BootFailed)
        assert failed.code == ChildExit.BOOT_FAILED
        assert "tests.worker.nothing_here" in failed.error
        assert process.wait() == ChildExit.BOOT_FAILED


async def test_lock_tells_whether_the_incarnation_lives(start: Start, short_path: Path) -> None:
    with start("echo") as process:
        lock = short_path / "run" / "incarnations" / f"{process.incarnation}.lock"
        assert not locks.is_free(lock)
        process.kill()
        process.wait()
        assert locks.is_free(lock)


async def test_worker_blocks_on_the_bell_when_idle(store: RedisStore, start: Start, client: Any) -> None:
    with start("echo"):
        await submit(store, "a")
        await settled(store, "a")
        with anyio.fail_after(PATIENCE):
            while not [c for c in client.client_list() if c["cmd"] == "blpop"]:
                await anyio.lowlevel.checkpoint()


async def test_a_handler_gets_a_history_that_is_longer_than_one_answer(start: Start, store: RedisStore) -> None:
    with start("talk"):
        for number, word in enumerate(("a" * 700_000, "b" * 700_000, "c" * 700_000, "d"), 1):
            built = build_run("talk", [text_part(word)], message_id=f"m{number}")
            await store.submit(
                [Submission("talk", built.message_id, built.digest, built.operation, store.connection.keys.queue)]
            )
            state = State.COMPLETED if number == 4 else State.INPUT_REQUIRED
            record = await settled(store, "talk", state)
            assert record.turn == number
    assert record.result is not None
    assert msgspec.json.decode(record.result)["parts"][0]["data"] == [700_000, 700_000, 700_000, 1]
