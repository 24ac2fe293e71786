"""Faults: deaths, false deaths, zombies, late commands, thieves, lost keys, a store that forgets."""

from __future__ import annotations

from collections.abc import Collection

from holdfast.core.begun_page import RUNS
from holdfast.core.delivery import Standing
from holdfast.core.worker_records import WorkerKind
from tests.lua.fuzz.process import Process
from tests.lua.fuzz.world import World
from tests.lua.view import OWN

EARLIER = "0:w:0"  # a claim that nothing has


async def kill(world: World) -> None:
    """SIGKILL: the parent's word comes at once, or never and the reaper has to find out."""
    if world.processes:
        process = world.processes.pop(world.dice.randrange(len(world.processes)))
        world.seen["kill"] += 1
        if world.chance(0.7):
            await _found_dead(world, process)


async def _found_dead(world: World, process: Process) -> None:
    """Its begun tasks are known, or not; tasks that had not begun keep their counts, also if it had run them before."""
    held = list(process.exchange.held)
    begun = world.dice.sample(held, world.dice.randrange(len(held) + 1)) if world.chance(0.6) else None
    clears_others = process.kind is WorkerKind.QUARANTINE
    others = [task_id for task_id in held if begun is not None and task_id not in begun and not clears_others]
    before = [await accounts(world, task_id) for task_id in others]
    notes = None if begun is None else notes_of(world, process, begun)
    await world.space.store.recover(process.incarnation, "killed", world.chance(0.8), begun=notes)
    after = [await accounts(world, task_id) for task_id in others]
    world.require(before == after, f"{others} of {process.incarnation} had not begun: {before} became {after}")
    world.seen["not begun"] += len(others)


def notes_of(world: World, process: Process, begun: Collection[str]) -> dict[str, str]:
    """Its notes: of what it runs, of what has ended there under its present claim, and under an earlier one."""
    held = process.exchange.held
    notes = {task_id: EARLIER for task_id in held if task_id not in begun and world.chance(0.5)}
    return notes | {task_id: world.dice.choice([RUNS, held[task_id].claim]) for task_id in begun}


async def accounts(world: World, task_id: str) -> list[bytes | None]:
    found: list[bytes | None] = await world.space.do(
        "HMGET", world.space.key(f"task:{task_id}"), "crashes", "recoveries", "solo", "deaths"
    )
    return found


async def false_death(world: World) -> None:
    """Declared dead, and it lives on."""
    if world.processes:
        process = world.processes.pop(world.dice.randrange(len(world.processes)))
        await world.space.store.recover(process.incarnation, "false", world.chance(0.5))
        world.zombies.append(process)
        world.seen["false death"] += 1


async def zombie(world: World) -> None:
    """It reports what it has done; it is told that it is dead and gets nothing."""
    if not world.zombies:
        return
    process = world.dice.choice(world.zombies)
    request = process.exchange.next_request()
    pulled = await world.pull(process, request)
    told = pulled.standing is Standing.DEAD and not pulled.deliveries
    world.require(world.rollback or told, f"the dead {process.incarnation} was told {pulled.standing}")
    for verdict in pulled.verdicts:
        world.seen[f"zombie {verdict}"] += 1
    process.exchange.answer(request, pulled)
    if pulled.standing not in {Standing.DEAD, Standing.UNKNOWN}:
        world.zombies.remove(process)  # the store forgot its death: now it dies of itself, for the reaper to find


async def arrive(world: World) -> None:
    """A command that was on its way for long is carried out now."""
    if world.late:
        await world.late.pop(world.dice.randrange(len(world.late)))()


async def steal(world: World) -> None:
    """Somebody pops an entry of ours."""
    key = world.list_of(world.dice.choice(world.lanes))
    head = await world.space.do("LINDEX", key, 0)
    if head and OWN.match(head.decode(errors="replace")):
        await world.space.do("LPOP", key)
        world.ledger.stolen = True
        world.seen["stolen"] += 1


async def copy(world: World) -> None:
    """Somebody pushes an entry once more, into any lane."""
    entry = await world.space.do("LINDEX", world.list_of(world.dice.choice(world.lanes)), 0)
    if entry:
        await world.space.push(entry, lane=world.list_of(world.dice.choice(world.lanes)))
        world.seen["copied"] += 1


async def drop(world: World) -> None:
    """DEL of a lane: own entries come back, what nobody had read is gone."""
    key = world.list_of(world.dice.choice(world.lanes))
    known = set((await world.check()).tasks)
    for entry in await world.space.entries(key):
        world.ledger.forgive(entry, known)
    await world.space.do("DEL", key)
    world.ledger.stolen = True
    world.seen["lane dropped"] += 1


async def silence(world: World) -> None:
    for lane in world.lanes:
        await world.space.do("DEL", world.space.key(f"bell:{lane}"))


async def flush_scripts(world: World) -> None:
    await world.space.do("SCRIPT", "FLUSH")


async def forget(world: World) -> None:
    """The store goes back to an old state; whoever was told otherwise was told otherwise."""
    if not world.rollback:
        return
    if world.save is None:
        await world.keep()
    else:
        await world.restore(world.save)
        world.save = None
        world.seen["rollback"] += 1
