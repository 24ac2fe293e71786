"""Each row of the table of transitions is played once, and found in the event stream.

That nothing else ever happens is held against the table wherever a history is told: in the fuzz, in chaos, and behind
every test of the protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from holdfast.core.acceptance import SubmitOptions
from holdfast.core.delivery import Delivery, Settle
from holdfast.core.task_states import TRANSITIONS, UNCHANGED, State, TaskEvent
from holdfast.core.trail import LAYOUTS
from holdfast.core.worker_records import WorkerKind
from holdfast_config.settings import MEMORY
from tests.lua.history import Row
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import submission
from tests.lua.test_promised import child, give
from tests.lua.test_unknown import TIMEOUT, serving

pytestmark = pytest.mark.anyio

Play = Callable[[Namespace], Awaitable[object]]

LATER = 10_000  # ms
QUESTIONS = {State.INPUT_REQUIRED: Settle.INPUT_REQUIRED, State.AUTH_REQUIRED: Settle.AUTH_REQUIRED}


async def claim(space: Namespace, worker: str) -> Delivery:
    """A worker that has just registered claims the only task that is ready."""
    await space.register(worker)
    [delivery] = await space.take(worker)
    return delivery


async def settle(space: Namespace, kind: Settle, worker: str = "w", delay_ms: int = 0) -> None:
    delivery = await claim(space, worker)
    assert await space.settle(worker, delivery, kind, delay_ms=delay_ms) == "OK"


async def submit_child(space: Namespace, parent: str = "p", expires_in_ms: int | None = None) -> None:
    options = SubmitOptions(after=(parent,), expires_in_ms=expires_in_ms)
    await space.store.submit_with_options([submission("t", space.queue, options=options)])


async def bring(space: Namespace, state: State) -> None:
    """A task `t` in this state; where it waits, for its parent `p`."""
    if state is State.WAITING:
        await space.submit("p")
        await submit_child(space)
    else:
        await space.submit("t")
        await lead(space, state)


async def lead(space: Namespace, state: State) -> None:
    """A submitted task `t` to this state."""
    match state:
        case State.WORKING:
            await claim(space, "w")
        case State.DELAYED:
            await settle(space, Settle.RETRY, delay_ms=LATER)
        case State.SUSPENDED:
            await space.store.pause("t", "asked")
        case State.INPUT_REQUIRED | State.AUTH_REQUIRED:
            await settle(space, QUESTIONS[state])
        case _:
            pass


def settled(state: State, kind: Settle, *, with_message: bool = False) -> Play:
    """Its worker settles: in time, or after one death (then it is submitted) or two (then it is delayed)."""
    deaths = {State.WORKING: 0, State.SUBMITTED: 1, State.DELAYED: 2}[state]

    async def play(space: Namespace) -> None:
        await space.submit("t")
        for death in range(max(1, deaths)):
            delivery = await claim(space, f"w{death}")
            if deaths:
                await space.crash(f"w{death}")
        assert await space.state("t") == state
        if with_message:
            await space.message("t", "m2")
        delay = LATER if kind in {Settle.RETRY, Settle.DEFER} else 0
        assert await space.settle(delivery.claim.split(":")[1], delivery, kind, delay_ms=delay) == "OK"

    return play


def ordered(state: State, order: Play) -> Play:
    async def play(space: Namespace) -> None:
        await bring(space, state)
        await order(space)

    return play


async def cancel(space: Namespace) -> None:
    await space.store.cancel("t", "asked")


async def pause(space: Namespace) -> None:
    await space.store.pause("t", "asked")


async def resume(space: Namespace) -> None:
    await space.store.resume("t", "asked")


async def message(space: Namespace) -> None:
    await space.message("t", "m2")


async def promote(space: Namespace) -> None:
    await space.advance(LATER)
    await space.store.promote(10)


async def complete_parent(space: Namespace) -> None:
    await settle(space, Settle.COMPLETED)
    await space.store.promote(10)


async def cancel_parent(space: Namespace) -> None:
    await space.store.cancel("p", "asked")
    await space.store.promote(10)


async def crash(space: Namespace) -> None:
    await space.crash("w")


async def lose_worker(space: Namespace) -> None:
    await space.crash("w", charged=False)


async def drop_claim(space: Namespace) -> None:
    """Its worker has seen the answer and does not hold the task."""
    await space.store.renew("w", "live", 1, [])


async def submit_later(space: Namespace) -> None:
    await space.submit("t", delay_ms=LATER)


async def fail_by_parent(space: Namespace) -> None:
    await space.submit("p")
    await space.store.cancel("p", "asked")
    await submit_child(space)


async def refuse_promised(space: Namespace) -> None:
    await give(space, child(space, "t", "nobody"))


async def crash_for_ever(space: Namespace) -> None:
    await space.submit("t")
    for death in range(4):
        await space.register(f"w{death}", kind=WorkerKind.SINGLE)
        assert await space.take(f"w{death}")
        await space.crash(f"w{death}")
        await space.advance(10 * LATER)
        await space.store.promote(10)


async def wait_unserved(space: Namespace) -> None:
    await serving(space, "w", "known")
    await space.submit("t", name="new")
    assert not await space.take("w")
    await space.crash("w")
    for _ in range(2 * TIMEOUT // LATER):
        await space.advance(LATER)
        await space.store.unserved(TIMEOUT, 10)


def expired(state: State) -> Play:
    """Its time is over before any worker has claimed it."""

    async def play(space: Namespace) -> None:
        delay = LATER if state is State.DELAYED else None
        if state is State.WAITING:
            await space.submit("p")
            await submit_child(space, expires_in_ms=1)
        else:
            options = SubmitOptions(expires_in_ms=1)
            await space.store.submit_with_options([submission("t", space.queue, delay_ms=delay, options=options)])
        if state is State.SUSPENDED:
            await pause(space)
        await space.advance(10)
        await space.store.promote(10)

    return play


async def pause_waiting(space: Namespace) -> None:
    await bring(space, State.WAITING)
    await pause(space)
    await cancel_parent(space)


def cleared(state: State) -> Play:
    """It shared the death of a worker with a task that then ends its quarantine worker, alone."""

    async def play(space: Namespace) -> None:
        await space.submit("s", "t")
        await space.register("a")
        assert len(await space.take("a")) == 2
        await space.crash("a")
        await space.register("b")
        assert [one.task_id for one in await space.take("b", 1)] == ["s"]
        await space.crash("b")
        await lead(space, state)
        await space.advance(LATER - 1)
        await space.store.promote(10)
        await space.register("q", kind=WorkerKind.QUARANTINE)
        assert [one.task_id for one in await space.take("q")] == ["s"]
        await space.crash("q")

    return play


async def withdraw_pause(space: Namespace) -> None:
    await pause(space)
    await resume(space)


async def steal_entry(space: Namespace) -> None:
    await space.do("DEL", space.queue)
    for _ in range(2):
        await space.store.audit(space.queue, 10, "")


async def lose_workers(space: Namespace) -> None:
    for number in range(3):
        await claim(space, f"w{number}")
        await space.crash(f"w{number}", charged=False)


async def retry(space: Namespace) -> None:
    await space.store.retry("t", "asked")


def retried(state: State) -> Play:
    async def play(space: Namespace) -> None:
        await space.submit("t")
        if state is State.CANCELED:
            await cancel(space)
        else:
            await settle(space, Settle(state.value))
        await retry(space)

    return play


async def record_step(space: Namespace) -> None:
    await space.submit("t")
    delivery = await claim(space, "w")
    await space.store.step("t", delivery.claim, 0, "fetch", b"1")


ORDERS: dict[TaskEvent, Play] = {
    TaskEvent.CANCELED: cancel,
    TaskEvent.SUSPENDED: pause,
    TaskEvent.RESUMED: resume,
    TaskEvent.MESSAGE: message,
    TaskEvent.PROMOTED: promote,
    TaskEvent.READY: complete_parent,
    TaskEvent.PARENT_FAILED: cancel_parent,
    TaskEvent.CLAIMED: lambda space: claim(space, "w"),
    TaskEvent.CRASHED: crash,
    TaskEvent.RECOVERED: lose_worker,
    TaskEvent.RETURNED: drop_claim,
    TaskEvent.PAUSE_ASKED: pause,
    TaskEvent.PAUSE_WITHDRAWN: withdraw_pause,
    TaskEvent.MESSAGE_WAITS: message,
    TaskEvent.JOINED: message,
    TaskEvent.PUT_BACK: steal_entry,
    TaskEvent.SUSPECTED: lose_workers,
}
SPECIAL: dict[Row, Play] = {
    (State.SUBMITTED, TaskEvent.DELAYED): submit_later,
    (State.DELAYED, TaskEvent.DELAYED): lambda space: bring(space, State.DELAYED),
    (State.SUBMITTED, TaskEvent.WAITS): lambda space: bring(space, State.WAITING),
    (State.SUBMITTED, TaskEvent.PARENT_FAILED): fail_by_parent,
    (State.SUBMITTED, TaskEvent.REFUSED): refuse_promised,
    (State.SUBMITTED, TaskEvent.DEAD_LETTER): crash_for_ever,
    (State.SUBMITTED, TaskEvent.UNSERVED): wait_unserved,
    (State.SUBMITTED, TaskEvent.UNKNOWN_HANDLER): wait_unserved,
    (State.SUBMITTED, TaskEvent.RETRY_OF): retried(State.CANCELED),
    (State.SUSPENDED, TaskEvent.PARENT_FAILED): pause_waiting,
    (State.WORKING, TaskEvent.STEP): record_step,
    (State.WORKING, TaskEvent.SUSPENDED): settled(State.WORKING, Settle.SUSPENDED),
}
OF_STATES: dict[TaskEvent, Callable[[State], Play]] = {
    TaskEvent.EXPIRED: expired,
    TaskEvent.CLEARED: cleared,
    TaskEvent.RETRIED: retried,
    TaskEvent.TURN: partial(settled, kind=Settle.COMPLETED, with_message=True),
    **{TaskEvent(kind): partial(settled, kind=kind) for kind in Settle if kind is not Settle.SUSPENDED},
}
ROWS: list[Row] = [
    *((state, event) for state, row in TRANSITIONS.items() for event in row),
    *((state, event) for event, states in UNCHANGED.items() for state in sorted(states)),
]


def play_of(state: State, event: TaskEvent) -> Play:
    if (state, event) in SPECIAL:
        return SPECIAL[state, event]
    return OF_STATES[event](state) if event in OF_STATES else ordered(state, ORDERS[event])


@pytest.mark.parametrize(("state", "event"), ROWS)
async def test_each_row_happens(state: State, event: TaskEvent) -> None:
    async with namespace(MEMORY) as space:
        await play_of(state, event)(space)
        assert (state, event) in (await space.history()).rows


def test_the_words_of_the_table_are_those_of_trails() -> None:
    assert set(TaskEvent) == (set(LAYOUTS) | set(Settle)) - {"settled", "restored"}
