"""The two ways in which a worker runs a delivery, at once or with a time limit: a handler cannot tell them apart."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

from holdfast.core.delivery import Delivery, Pulled, Settle, Settlement, Standing
from holdfast.core.envelope import USUAL_TIMEOUT, build_parts
from holdfast.errors import Reject, Retry
from holdfast.handler.handler import Handler, HandlerOptions, callee
from holdfast.handler.task import Task
from holdfast.store.memory import MemoryStore
from holdfast.worker.context import WorkerContext, WorkerSpec, lease_clock
from holdfast.worker.run import TaskRunner
from holdfast_config import Settings
from holdfast_config.lanes import Lane
from tests.envelopes import build_run
from tests.handler.deliveries import delivery_of, task_runner_of
from tests.handler.test_stopping import PATIENCE
from tests.worker.telling import cancel_own_task

pytestmark = pytest.mark.anyio

SHORT = 0.01  # seconds: over before anything here is
NEVER = 3600.0  # seconds: a time limit that no handler here reaches
WAYS = {"at once": None, "with a time limit": NEVER}

Handle = Callable[..., Any]


def takes_all_steps(running: TaskRunner, delivery: Delivery) -> bool:
    return running._bounds.unbounded(running.handler, delivery, Task(delivery)) is None


class Play:
    """One worker that runs handlers in one of the two ways; `told` is theirs to write."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.told: list[str] = []
        self.begun = anyio.Event()

    async def settled(self, handler: Handle, why: str = "") -> Settlement | None:
        """The report about this handler, which is stopped once it has set `begun` if there is a reason."""
        running = running_under(handler, task_timeout=self.limit)
        delivery = delivery_of()
        assert takes_all_steps(running, delivery) == (self.limit is not None)
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as life:
                life.start_soon(running.serve)
                await anyio.wait_all_tasks_blocked()
                await self._run(running, delivery, why)
                life.cancel_scope.cancel()
        return next(iter(running.context.exchange.unsettled), None)

    async def _run(self, running: TaskRunner, delivery: Delivery, why: str) -> None:
        exchange = running.context.exchange
        [claimed] = exchange.answer(exchange.next_request(), Pulled(Standing.OK, (), (delivery,)))
        running.start(claimed, lease_clock())
        if why:
            if not self.begun.is_set():
                await self.begun.wait()
            running.tasks.stop(delivery.task_id, delivery.claim, why)
        while not running.context.state.use.done:
            await anyio.lowlevel.checkpoint()


def running_under(handler: Handle, **settings: Any) -> TaskRunner:
    return task_runner_of(WorkerContext(WorkerSpec("i" * 32, 0, Settings(**settings)), MemoryStore("q")), handler)


@pytest.fixture(params=WAYS)
def play(request: pytest.FixtureRequest) -> Play:
    return Play(WAYS[request.param])


async def text() -> str:
    return "text"


async def data() -> dict[str, int]:
    await anyio.lowlevel.checkpoint()
    return {"a": 1}


async def question() -> dict[str, str]:
    return {"state": "input-required", "prompt": "which?"}


async def awaitable() -> Awaitable[str]:
    return text()


async def generator() -> Iterator[str]:
    return iter_in_a_thread()


def iter_in_a_thread() -> Iterator[str]:
    yield "first"
    yield (threading.current_thread() is not threading.main_thread() and "in a thread") or "on the loop"


async def async_generator() -> AsyncIterator[str]:
    yield "first"


async def no_json() -> object:
    return object()


async def in_time_of_anyio() -> str:
    with anyio.move_on_after(SHORT):
        await anyio.sleep_forever()
    return "gave up"


async def in_time_of_asyncio() -> str:
    try:
        async with asyncio.timeout(SHORT):
            await anyio.sleep_forever()
    except TimeoutError:
        return "gave up"
    return "never"


async def late() -> None:
    with anyio.fail_after(SHORT):
        await anyio.sleep_forever()


async def groups() -> list[str]:
    done = list[str]()

    async def child(name: str) -> None:
        await anyio.lowlevel.checkpoint()
        done.append(name)

    async with anyio.create_task_group() as group, asyncio.TaskGroup() as other:
        group.start_soon(child, "anyio")
        other.create_task(child("asyncio"))
    return sorted(done)


async def failing_group() -> None:
    async def child() -> None:
        raise LookupError("in a child")

    async with anyio.create_task_group() as group:
        group.start_soon(child)
        await anyio.sleep_forever()


async def thread() -> str:
    return await anyio.to_thread.run_sync(lambda: "from a thread")


async def uncancels() -> str:
    cancel_own_task()
    try:
        await anyio.sleep_forever()
    except asyncio.CancelledError:
        current = asyncio.current_task()
        assert current is not None
        current.uncancel()
    return "went on"


async def cancels_itself() -> None:
    cancel_own_task()
    await anyio.sleep_forever()


async def cancels_itself_and_answers() -> str:
    cancel_own_task()
    return "answered"


async def awaits_what_was_cancelled() -> None:
    own = asyncio.ensure_future(asyncio.Event().wait())
    own.cancel()
    await own


def raises(error: BaseException) -> Handle:
    async def handler() -> None:
        await anyio.lowlevel.checkpoint()
        raise error

    return handler


ANSWERS: list[tuple[Handle, Settle, str]] = [
    (text, Settle.COMPLETED, "text"),
    (data, Settle.COMPLETED, '"a":1'),
    (question, Settle.INPUT_REQUIRED, "which?"),
    (awaitable, Settle.COMPLETED, "text"),
    (generator, Settle.COMPLETED, "in a thread"),
    (no_json, Settle.EXHAUSTED, "ResultError"),
    (in_time_of_anyio, Settle.COMPLETED, "gave up"),
    (in_time_of_asyncio, Settle.COMPLETED, "gave up"),
    (late, Settle.RETRY, "TimeoutError"),
    (groups, Settle.COMPLETED, '["anyio","asyncio"]'),
    (failing_group, Settle.RETRY, "ExceptionGroup"),
    (thread, Settle.COMPLETED, "from a thread"),
    (uncancels, Settle.COMPLETED, "went on"),
    (cancels_itself, Settle.RETRY, "the handler's own asyncio task was cancelled"),
    (cancels_itself_and_answers, Settle.COMPLETED, "answered"),
    (awaits_what_was_cancelled, Settle.RETRY, "asyncio.exceptions.CancelledError"),
    (raises(ValueError("why")), Settle.RETRY, "ValueError: why"),
    (raises(Retry(after=1.0)), Settle.RETRY, "Retry"),
    (raises(Reject("no")), Settle.REJECTED, "no"),
    (raises(SystemExit(3)), Settle.RETRY, "SystemExit: 3"),
    (raises(KeyboardInterrupt()), Settle.RETRY, "KeyboardInterrupt"),
    (raises(GeneratorExit()), Settle.RETRY, "GeneratorExit"),
    (raises(BaseExceptionGroup("two", [SystemExit(1), ValueError("b")])), Settle.RETRY, "BaseExceptionGroup"),
]


@pytest.mark.parametrize(("handler", "kind", "words"), ANSWERS, ids=[f"{row[0].__name__} {row[2]}" for row in ANSWERS])
async def test_a_handler_ends_in_the_same_manner(play: Play, handler: Handle, kind: Settle, words: str) -> None:
    report = await play.settled(handler)
    assert report is not None
    assert (report.kind, report.claim) == (kind, "1:i:1")
    assert words in report.result.decode() + report.reason


async def test_a_handler_that_swallows_a_cancel_gets_it_again_until_it_obeys(play: Play) -> None:
    async def handler() -> None:
        play.begun.set()
        for time in ("once", "twice", "three times"):
            try:
                await anyio.sleep_forever()
            except asyncio.CancelledError:
                play.told.append(time)
        await anyio.sleep_forever()

    report = await play.settled(handler, "drain")
    assert play.told == ["once", "twice", "three times"]
    assert (report and report.kind) == Settle.RELEASE


async def test_a_cancel_that_comes_first_is_met_at_the_first_wait(play: Play) -> None:
    async def handler() -> None:
        play.told.append("begun")
        await anyio.lowlevel.checkpoint()
        play.told.append("went on")

    play.begun.set()
    assert await play.settled(handler, "cancel") is None
    assert play.told == ["begun"]


@pytest.mark.parametrize(("why", "kind"), [("drain", Settle.RELEASE), ("pause", Settle.SUSPENDED), ("cancel", None)])
async def test_a_stopped_handler_reports_its_checkpoint(play: Play, why: str, kind: Settle | None) -> None:
    async def handler(task: Task) -> None:
        play.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            play.told.append(str(task.cancelled))
            task.checkpoint({"page": 7})

    report = await play.settled(handler, why)
    assert (report.kind, report.checkpoint) == (kind, b'{"page":7}') if report else kind is None
    assert play.told == ["True"]


async def test_an_answer_after_a_cancel_is_reported(play: Play) -> None:
    async def handler() -> str:
        play.begun.set()
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            return "all the same"
        return "never"

    report = await play.settled(handler, "cancel")
    assert report is not None
    assert b"all the same" in report.result


async def test_an_error_while_it_is_stopped_is_reported(play: Play) -> None:
    async def handler() -> None:
        play.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("while cleaning up")

    report = await play.settled(handler, "drain")
    assert (report and report.reason) == "ValueError: while cleaning up"


async def test_what_a_shield_protects_is_finished_first(play: Play) -> None:
    async def handler() -> None:
        try:
            play.begun.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(SHORT)  # something to finish
                play.told.append("finished")

    report = await play.settled(handler, "drain")
    assert play.told == ["finished"]
    assert (report and report.kind) == Settle.RELEASE


async def test_the_tasks_of_a_handler_end_before_it_is_reported(play: Play) -> None:
    async def child(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            play.told.append(name)

    async def handler() -> None:
        async with anyio.create_task_group() as group, asyncio.TaskGroup() as other:
            group.start_soon(child, "anyio")
            other.create_task(child("asyncio"))
            await anyio.lowlevel.checkpoint()
            play.begun.set()

    report = await play.settled(handler, "drain")
    assert sorted(play.told) == ["anyio", "asyncio"]
    assert (report and report.kind) == Settle.RELEASE


async def test_a_thread_of_the_handlers_own_sees_the_cancel_and_is_waited_for(play: Play) -> None:
    """It looks at the scope that was there when it began."""

    def work() -> None:
        anyio.from_thread.run_sync(play.begun.set)
        try:
            while True:
                anyio.from_thread.run(anyio.sleep, 0)
                anyio.from_thread.check_cancelled()
        finally:
            play.told.append("thread")

    async def handler() -> None:
        await anyio.to_thread.run_sync(work)

    report = await play.settled(handler, "drain")
    assert play.told == ["thread"]
    assert (report and report.kind) == Settle.RELEASE


async def test_a_thread_that_looks_nowhere_is_waited_for(play: Play) -> None:
    released = threading.Event()

    def work() -> None:
        anyio.from_thread.run_sync(play.begun.set)
        released.wait(PATIENCE)
        play.told.append("thread")

    async def handler() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, work)
            try:
                await anyio.sleep_forever()
            finally:
                released.set()

    report = await play.settled(handler, "drain")
    assert play.told == ["thread"]
    assert (report and report.kind) == Settle.RELEASE


async def test_context_variables_of_a_handler_are_its_own(play: Play) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="untouched")

    async def handler() -> str:
        before = variable.get()
        variable.set("touched")
        return before

    for _ in range(2):
        report = await play.settled(handler)
        assert report is not None
        assert b"untouched" in report.result
    assert variable.get() == "untouched"


def usually_bounded() -> Delivery:
    built = build_run("t-1", build_parts("hello"), metadata={USUAL_TIMEOUT: NEVER})
    return delivery_of(operation=built.operation)


BOUNDED: dict[str, tuple[dict[str, Any], Delivery]] = {
    "by the worker's timeout": ({"task_timeout": NEVER}, delivery_of()),
    "by its lane's timeout": ({"lanes": (Lane("q", timeout=NEVER),)}, delivery_of()),
    "by its own timeout": ({}, delivery_of(timeout_ms=1000)),
    "by its producer's usual timeout": ({}, usually_bounded()),
    "by messages that have to be read": ({}, delivery_of(history=(b"{}", b"{}"), earlier=2)),
    "by parents whose results have to be read": ({}, delivery_of(is_child=True)),
    "by steps, of which one may be a question": ({}, delivery_of(turn=2, has_steps=True)),
    "by an operation that cannot be read": ({}, delivery_of(operation=b"{")),
}


@pytest.mark.parametrize(("settings", "delivery"), BOUNDED.values(), ids=BOUNDED)
async def test_what_is_bounded_takes_all_steps(settings: dict[str, Any], delivery: Delivery) -> None:
    assert takes_all_steps(running_under(text, **settings), delivery)
    assert not takes_all_steps(running_under(text), delivery_of())


@pytest.mark.parametrize("options", [HandlerOptions(timeout=NEVER), HandlerOptions(concurrency=1)], ids=str)
async def test_what_a_handlers_options_bound_takes_all_steps(options: HandlerOptions) -> None:
    running = running_under(text)
    running.handler = Handler("tests:handle", callee(text, "tests:handle", named=False, options=options))
    assert takes_all_steps(running, delivery_of())


@pytest.mark.parametrize(
    "handler", [lambda: "sync", iter_in_a_thread, async_generator], ids=["function", "generator", "async generator"]
)
async def test_what_is_no_coroutine_takes_all_steps(handler: Handle) -> None:
    assert takes_all_steps(running_under(handler), delivery_of())


async def test_a_bug_at_the_end_of_a_delivery_ends_the_worker(play: Play) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("a bug")

    running = running_under(text, task_timeout=play.limit)
    running.recycler = SimpleNamespace(task_begun=lambda: None, task_ended=broken)  # type: ignore[assignment]

    async def serve() -> None:
        async with anyio.create_task_group() as life:
            life.start_soon(running.serve)
            await anyio.wait_all_tasks_blocked()
            running.start(delivery_of(), lease_clock())

    with anyio.fail_after(PATIENCE), pytest.raises(ExceptionGroup) as caught:
        await serve()
    assert caught.group_contains(AssertionError, match="a bug")
