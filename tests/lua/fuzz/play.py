"""One play: random actions by weight, invariants on the way, then rest, and the promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.worker_records import WorkerKind
from tests.lua.fuzz import handlers, nemesis, operators, producers, stewards, submit_options, workers
from tests.lua.fuzz import steps as steps_of_handlers
from tests.lua.fuzz.process import Process
from tests.lua.fuzz.world import World
from tests.lua.operations import admission, introduction

ACTIONS: dict[Callable[[World], Awaitable[None]], float] = {
    producers.submit: 9,
    producers.submit_many: 2,
    producers.push: 5,
    submit_options.submit: 5,
    producers.message: 7,
    producers.order: 6,
    operators.retry: 3,
    operators.readmit: 0.7,
    operators.purge: 0.3,
    operators.pause_lane: 0.6,
    operators.resume_lane: 1.5,
    operators.rate: 0.5,
    operators.quiet: 0.3,
    operators.resume_hosts: 2,
    workers.pull: 34,
    workers.finish: 30,
    workers.heed: 3,
    workers.renew: 5,
    workers.admit: 4,
    stewards.promote: 3,
    stewards.unserved: 2,
    stewards.reap: 1.5,
    stewards.vouch: 1,
    stewards.suspects: 1,
    stewards.take_back: 1,
    stewards.ring: 0.5,
    stewards.audit: 1,
    stewards.trim: 0.3,
    nemesis.kill: 1.5,
    nemesis.false_death: 1,
    nemesis.zombie: 2,
    nemesis.arrive: 3,
    nemesis.steal: 0.4,
    nemesis.copy: 0.7,
    nemesis.drop: 0.05,
    nemesis.silence: 0.5,
    nemesis.flush_scripts: 0.05,
    nemesis.forget: 1,
}
HONEST_SHARE = 0.5  # of the steps of a play pass before the first thief, so that audit's silence is tested too
THIEVES = (nemesis.steal, nemesis.drop)
PLAIN = (
    *(producers.submit, producers.submit_many, workers.pull, workers.finish, workers.heed, workers.renew),
    *(stewards.promote, stewards.reap, stewards.vouch, stewards.audit),
    *(nemesis.kill, nemesis.false_death, nemesis.zombie, nemesis.arrive, nemesis.silence),
    *(nemesis.forget, nemesis.flush_scripts),
)
CHECK_EVERY = 25
ROUNDS = 600


async def play(
    url: str,
    seed: int,
    steps: int,
    *,
    rollback: bool = False,
    plain: int = 0,
    replaced: Mapping[str, str] | None = None,
) -> Counter[str]:
    """Play one seed, in three lanes with bounds or in so many `plain` ones, at most three, with usual calls.

    Raises BreachError, which names what broke. Returns what happened how often.
    """
    world = World.new(url, seed, replaced, rollback=rollback, plain=plain)
    try:
        await _act(world, steps)
        await _rest(world)
        view = await world.check()
        broken = world.ledger.kept(view, world.ran)
        world.require(not broken, "; ".join(broken[:5]))
        world.seen["tasks"] = len(view.tasks)
        return world.seen
    finally:
        await world.space.do("DEL", *await world.all_keys(), "nothing")
        await world.space.aclose()


async def _act(world: World, steps: int) -> None:
    if not world.plain:
        await world.space.store.declare("here", operators.BOUNDS)
    await world.begin()
    for step in range(steps):
        await world.space.clock.advance(world.dice.choice([0, 1, 5, 50, 400]))
        [action] = world.dice.choices(list(ACTIONS), list(ACTIONS.values()))
        if action in PLAIN if world.plain else step > steps * HONEST_SHARE or action not in THIEVES:
            await action(world)
        await handlers.emit(world)
        await steps_of_handlers.keep(world)
        await stewards.tend(world)
        await world.begin()
        if step % CHECK_EVERY == 0:
            await world.check()


async def _rest(world: World) -> None:
    """Everything late arrives, everybody dies; one healthy worker finishes what is left."""
    for late in world.late:
        await late()
    store = world.space.store
    await world.check()
    await operators.resume_hosts(world)
    for lane in world.lanes:
        await store.resume_lane(lane)
    for worker in await world.space.do("ZRANGE", world.space.key("workers"), 0, -1):
        await store.recover(worker.decode(), "end", False)
    process = Process("last", world.lanes, kind=WorkerKind.SINGLE)
    await store.register(introduction(process.incarnation, kind=process.kind))
    for _ in range(ROUNDS):
        await world.space.clock.advance(10_000)
        _, wait = await store.promote(100)
        for lane in world.lanes:
            await store.audit(lane, 100, "")
        if await _finish_round(world, process) and wait != 0:
            return
    world.require(False, "the play does not come to rest")


async def _finish_round(world: World, process: Process) -> bool:
    """Pull, complete everything, admit everything; whether nothing was left to do."""
    store, exchange = world.space.store, process.exchange
    request = exchange.next_request()
    pulled = await world.pull(process, request)
    fresh = exchange.answer(request, pulled)
    world.deliver(process, fresh)
    await submit_options.begun(world, fresh)
    for delivery in fresh:
        done = Settlement(delivery.task_id, delivery.claim, Settle.COMPLETED, process.outcome(delivery.task_id))
        exchange.finish(delivery.task_id, done)
    while head := await store.inbox(process.incarnation):
        await store.admit(process.incarnation, admission(head[1]))
    if fresh or request.settlements:
        return False
    counts = await store.counts()
    waiting = sum(counts.states[state] for state in counts.states if state in {"submitted", "delayed", "working"})
    lengths = [await world.space.do("LLEN", world.list_of(lane)) for lane in world.lanes]
    return waiting == 0 and sum(lengths) == 0
