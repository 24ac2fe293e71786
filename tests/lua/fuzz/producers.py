"""Producers and operators: submit, push, ask again, send messages, cancel, pause, resume."""

from __future__ import annotations

from holdfast.core.acceptance import Accepted
from tests.lua.fuzz.world import World
from tests.lua.operations import LARGE, control, flat, resuming, run, submission

JUNK = (
    b"{bad",
    b"[]",
    b'"x"',
    b"\xff\xfe",
    b'{"operation":"run"}',
    b'{"operation":"zap","params":{"task_id":"a"}}',
    b'{"operation":"run","params":{"task_id":7}}',
    b'{"operation":"run","params":{"task_id":"a b"}}',
    b"[" * 50_000,
)
CALLS = ("", "", "rare")  # handlers by name: one has a rate
KEYS = ("", "", "", "b", "a:key:b")  # of two lanes: see World.lanes


async def submit(world: World) -> None:
    """New tasks; some are poisoned, some delayed; some submits are repeated, some with other content."""
    task_id = world.name("p" if world.chance(0.01 if world.plain else 0.08) else "t")
    delay = world.dice.choice([0, 300, 4000]) if world.chance(0.2) else None
    is_bounded = not world.plain or world.chance(0.03)  # while such a task, or a suspect, waits, no call is usual
    bounds = {"name": world.dice.choice(CALLS), "concurrency_key": world.dice.choice(KEYS)} if is_bounded else {}
    wanted = submission(task_id, world.dice.choice(world.lanes), delay_ms=delay, **bounds)
    store = world.space.store
    world.require(await store.submit([wanted]) == [Accepted.NEW], f"{task_id} is new and was not accepted as new")
    world.ledger.accept(task_id, wanted.message_id)
    if world.chance(0.2):
        world.require(await store.submit([wanted]) == [Accepted.DUPLICATE], f"{task_id} again is no duplicate")
    if world.chance(0.1):
        other = submission(task_id, wanted.lane, wanted.message_id, text="other")
        world.require(await store.submit([other]) == [Accepted.CONFLICT], f"{task_id} with other bytes is no conflict")


async def submit_many(world: World) -> None:
    """More usual tasks than one worker has slots, where usual calls are played."""
    if not world.plain:
        return
    wanted = [submission(world.name("t"), world.space.queue) for _ in range(world.dice.choice([8, 24]))]
    world.require(set(await world.space.store.submit(wanted)) == {Accepted.NEW}, "a new task was not accepted as new")
    for one in wanted:
        world.ledger.accept(one.task_id, one.message_id)


async def push(world: World) -> None:
    """A foreign producer: either envelope, any lane, now and then twice, large, or nonsense."""
    task_id, message_id, lane = world.name("f"), world.name("m"), world.list_of(world.dice.choice(world.lanes))
    kind = world.dice.random()
    if kind < 0.75:
        raw = run(task_id, message_id, call=world.dice.choice(CALLS))
    elif kind < 0.9:
        raw = flat(task_id, message_id)
    else:
        raw = run(task_id, message_id, text="x" * LARGE)
    await world.space.push(*([raw] * (2 if world.chance(0.2) else 1)), lane=lane)
    world.ledger.accept(task_id, message_id)
    if world.chance(0.1):
        await world.space.push(world.dice.choice(JUNK), lane=lane)


async def message(world: World) -> None:
    """One more message for a task, through submit or pushed."""
    if not (recent := world.ledger.recent()):
        return
    task_id, message_id = world.dice.choice(recent), world.name("m")
    if world.chance(0.3):
        text = "x" * LARGE if world.chance(0.2) else "more"
        written = run if world.chance(0.7) else resuming
        await world.space.push(written(task_id, message_id, text=text))
        world.ledger.messages[task_id].add(message_id)
    elif await world.space.store.get(task_id, payloads=False):
        answer = await world.space.message(task_id, message_id)
        world.seen[f"message {answer}"] += 1
        if answer in {Accepted.TURN, Accepted.PENDING}:
            world.ledger.messages[task_id].add(message_id)


async def order(world: World) -> None:
    """Cancel, pause or resume, called or pushed; some of a task that runs for sure."""
    running = [task_id for process in world.processes for task_id in process.exchange.held]
    recent = world.ledger.recent()
    if not (known := running if running and world.chance(0.3) else recent):
        return
    task_id = world.dice.choice(known)
    verb = world.dice.choice(["cancel", "pause", "pause", "resume", "resume", "resume"])
    if world.chance(0.25):
        await world.space.push(control(verb, task_id))
        return
    store = world.space.store
    call = {"cancel": store.cancel, "pause": store.pause, "resume": store.resume}[verb]
    state = await call(task_id, "asked")
    world.seen[f"{verb} {state}"] += 1
    if verb == "cancel" and state == "canceled":
        world.ledger.canceled.add(task_id)
