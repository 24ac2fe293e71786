"""Middleware: around each call of a handler; it sees the task, the value and the exceptions, and may change them."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

from holdfast import Handlers, Reject, Retry, Task, create_broker, read_result
from holdfast.core.messages import call_part
from holdfast.core.outcomes import Completed, Raised, Rejected
from holdfast.errors import HandlerError
from holdfast.handler.handler import Handler
from tests.handler.deliveries import delivery_of, document, run_handler
from tests.worker.processes import PATIENCE

pytestmark = pytest.mark.anyio

Call = Callable[[], Awaitable[Any]]
PlainCall = Callable[[], Any]


async def coroutine(region: str) -> str:
    await anyio.lowlevel.checkpoint()
    return f"for {region}"


def plain(region: str) -> str:
    return f"for {region}"


async def async_generator(region: str) -> AsyncIterator[str]:
    yield "progress"
    yield f"for {region}"


def generator(region: str) -> Iterator[str]:
    yield "progress"
    yield f"for {region}"


def returns_coroutine(region: str) -> Awaitable[str]:
    return coroutine(region)


KINDS = [coroutine, plain, async_generator, generator, returns_coroutine]


class Log:
    """Middleware of both forms that notes what it sees."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, name: str, seen: object) -> None:
        self.lines.append(f"{name} {seen}")

    async def on_loop(self, task: Task, call: Call) -> Any:
        self.note("loop begins", task.name)
        try:
            value = await call()
        except BaseException as error:
            self.note("loop sees", repr(error))
            raise
        self.note("loop sees", value)
        return value

    def in_thread(self, task: Task, call: PlainCall) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        self.note("thread begins", task.name)
        try:
            value = call()
        except BaseException as error:
            self.note("thread sees", repr(error))
            raise
        self.note("thread sees", value)
        return value


def handler_with(function: Callable[..., Any], *around: Callable[..., Any], **options: Any) -> Handler:
    handlers = Handlers()
    handlers.register("f", **options)(function)
    for each in around:
        handlers.use(each)
    return handlers.frozen("app:handlers")


async def run_call(handler: Handler, **kwargs: object) -> Any:
    return await run_handler(handler, delivery_of([call_part("f", kwargs)]))


@pytest.mark.parametrize("function", KINDS)
async def test_both_forms_see_the_value_of_every_kind_the_first_outermost(function: Callable[..., Any]) -> None:
    log = Log()
    handler = handler_with(function, log.on_loop, log.in_thread, log.on_loop, log.in_thread, log.in_thread)
    outcome = await run_call(handler, region="eu")
    assert document(outcome)["parts"][0]["text"] == "for eu"
    forms = ["loop", "thread", "loop", "thread", "thread"]
    assert log.lines == [f"{form} begins f" for form in forms] + [f"{form} sees for eu" for form in reversed(forms)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (LookupError("gone"), "LookupError"),
        (Retry(after=3), "Retry"),
        (Reject("never"), "Reject"),
        (SystemExit(3), "SystemExit"),
    ],
)
@pytest.mark.parametrize("is_plain", [False, True])
async def test_both_forms_see_exceptions_which_keep_their_meaning(
    error: BaseException, kind: str, is_plain: bool
) -> None:
    async def raises() -> None:
        raise error

    def raises_plainly() -> None:
        raise error

    log = Log()
    outcome = await run_call(handler_with(raises_plainly if is_plain else raises, log.in_thread, log.on_loop))
    assert log.lines[2:] == [f"loop sees {error!r}", f"thread sees {error!r}"]
    if isinstance(error, Reject):
        assert isinstance(outcome, Rejected)
    else:
        assert isinstance(outcome, Raised)
        assert (outcome.failure.type, outcome.retry_after) == (kind, getattr(error, "after", None))


async def test_it_sees_arguments_that_do_not_fit_and_the_task_is_rejected_all_the_same() -> None:
    log = Log()
    outcome = await run_call(handler_with(coroutine, log.on_loop), country="fr")
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "missing arguments: region"
    assert log.lines == ["loop begins f", "loop sees MisfitError('missing arguments: region')"]


async def test_it_may_answer_itself_change_the_value_hide_an_error_or_call_again() -> None:
    calls = list[int]()

    async def fails_once() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise LookupError("gone")
        return len(calls)

    async def again(task: Task, call: Call) -> Any:
        try:
            return await call()
        except LookupError:
            return await call()

    def doubled(task: Task, call: PlainCall) -> Any:
        return 2 * call()

    async def cached(task: Task, call: Call) -> Any:
        return "from the cache"

    assert document(await run_call(handler_with(fails_once, doubled, again)))["parts"][0]["data"] == 4
    assert document(await run_call(handler_with(fails_once, cached)))["parts"][0]["text"] == "from the cache"
    assert len(calls) == 2


async def test_plain_middleware_shares_the_thread_of_a_plain_handler() -> None:
    threads = list[int]()

    def notes_thread(task: Task, call: PlainCall) -> Any:
        threads.append(threading.get_ident())
        return call()

    def handler() -> None:
        threads.append(threading.get_ident())

    assert isinstance(await run_call(handler_with(handler, notes_thread, notes_thread)), Completed)
    assert len(threads) == 3
    assert len(set(threads)) == 1


async def test_threads_of_one_delivery_do_not_wait_for_each_others_place() -> None:
    log = Log()
    handler = handler_with(plain, log.in_thread, log.on_loop, log.in_thread)
    delivery = delivery_of([call_part("f", {"region": "eu"})])
    outcome = await run_handler(handler, delivery, limiter=anyio.CapacityLimiter(1))
    assert isinstance(outcome, Completed)


@pytest.mark.parametrize("form", ["on_loop", "in_thread"])
async def test_a_time_limit_holds_for_all_of_it(form: str) -> None:
    log = Log()

    async def sleeps() -> None:
        await anyio.sleep_forever()

    outcome = await run_call(handler_with(sleeps, getattr(log, form), timeout=0.01))
    assert isinstance(outcome, Raised)
    assert outcome.failure.type == "TaskTimeout"
    assert "CancelledError" in log.lines[-1]


async def test_a_cancel_reaches_a_coroutine_inside_of_a_thread() -> None:
    log, began = Log(), anyio.Event()
    handlers = Handlers()
    handlers.use(log.in_thread)

    @handlers.register("f")
    async def waits() -> None:
        began.set()
        await anyio.sleep_forever()

    async with create_broker(type="memory") as broker, broker.working(handlers):
        task_id = await broker.manager.run_task(name="f")
        with anyio.fail_after(PATIENCE):
            await began.wait()
        await broker.manager.cancel_task(task_id)
        assert (await broker.manager.wait(task_id, timeout=30)).state == "canceled"
    assert [line.partition("(")[0] for line in log.lines] == ["thread begins f", "thread sees CancelledError"]


class Pool:
    uses = 0


async def counted(task: Task, call: Call, *, pool: Pool) -> Any:
    pool.uses += 1
    return f"{await call()} {pool.uses}"


async def test_it_gets_values_of_lifespans() -> None:
    handlers = Handlers()

    @handlers.lifespan
    async def open_pool() -> AsyncIterator[Pool]:
        yield Pool()

    handlers.use(counted)
    handlers.register("f")(plain)
    async with create_broker(type="memory") as broker, broker.working(handlers):
        record = await broker.manager.wait(await broker.manager.run_task(name="f", kwargs={"region": "eu"}))
        assert read_result(record.result).value == "for eu 1"


async def stops_short(task: Task) -> None: ...


async def wants_more(task: Task, call: Call, region: str) -> None: ...


async def yields(task: Task, call: Call) -> AsyncIterator[None]:
    yield


def yields_plainly(task: Task, call: Call) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (stops_short, r"the middleware 'stops_short' has the parameters \(task\): \(task, call\) are expected"),
        (wants_more, r"the middleware 'wants_more' has the parameters \(task, call, region\): \(task, call\) are"),
        (yields, "'yields' contains a yield: call the handler and return its result instead, as in `return await call"),
        (yields_plainly, "'yields_plainly' contains a yield: call the handler"),
        (Log, "'Log' is no function"),
        (None, "'NoneType' is no function"),
    ],
)
def test_a_function_that_cannot_be_one_is_refused(function: Any, error: str) -> None:
    with pytest.raises(HandlerError, match=error):
        Handlers().use(function)


def test_without_middleware_a_coroutine_keeps_the_short_way() -> None:
    bare, within = handler_with(coroutine), handler_with(coroutine, Log().on_loop)
    assert (bare.named["f"].is_unbounded, within.named["f"].is_unbounded) == (True, False)
