"""Operators after a failure: retry tasks and entries, delete dead letters."""

from __future__ import annotations

from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.quiet_hosts import ALL_HOSTS
from holdfast.core.tasks import Retried
from tests.lua.fuzz.world import World

DROPPED = "before this message ran"  # told of a message whose task has ended: its place is among what was set aside
RETRIABLE = frozenset({"failed", "rejected", "canceled", "delayed"})


async def retry(world: World) -> None:
    """A task that ended badly, or waits for its time; sometimes twice, which makes one."""
    store, recent = world.space.store, world.ledger.recent()
    if not recent:
        return
    task_id = world.dice.choice(recent)
    before = await store.get(task_id, payloads=False)
    answer = await store.retry(task_id, "asked")
    world.seen[f"retry {answer.word}"] += 1
    if before is None:
        world.require(answer.word == "unknown", f"{task_id} is not there, its retry is {answer}")
    elif before.state not in RETRIABLE:
        world.require(answer.word == before.state, f"{task_id} is {before.state}, its retry is {answer}")
    elif answer.word == Retried.NEW:
        world.ledger.accept(answer.task_id, before.message_id)
        if world.chance(0.3):
            again = await store.retry(task_id, "asked")
            world.require((again.word, again.task_id) == (Retried.AGAIN, answer.task_id), f"again {answer} is {again}")


HOSTS = (ALL_HOSTS, "host")
BOUNDS = (
    LaneLimit(LaneBound.LIMIT, "slow", "2"),
    LaneLimit(LaneBound.KEYS, "slow", "2"),
    LaneLimit(LaneBound.NAME, "rare", "3/2000/2"),
)


async def pause_lane(world: World) -> None:
    world.seen["paused"] += await world.space.store.pause_lane(world.dice.choice(world.lanes), "asked")


async def resume_lane(world: World) -> None:
    world.seen["resumed"] += await world.space.store.resume_lane(world.dice.choice(world.lanes))


async def quiet(world: World) -> None:
    """All hosts, or the one that all workers of the play are on; some are halted."""
    store, host = world.space.store, world.dice.choice(HOSTS)
    tell = store.halt_host if world.chance(0.4) else store.quiet_host
    world.seen[tell.__name__] += (await tell(host, "op", "asked")).is_new


async def resume_hosts(world: World) -> None:
    for host in HOSTS:
        world.seen["host resumed"] += (await world.space.store.resume_host(host, "op")).is_new
        world.seen["halt ended"] += (await world.space.store.end_halt(host, "op")).is_new


async def rate(world: World) -> None:
    """The rate of one lane comes and goes."""
    rate = world.dice.choice(["5/1000/2", "50/1000/5", ""])
    world.seen["rates"] += await world.space.store.bound([LaneLimit(LaneBound.RATE, world.lanes[2], rate)])


async def readmit(world: World) -> None:
    """An entry that was set aside goes back to its lane."""
    found = [one for one in await world.space.store.unreadable(50) if DROPPED not in one.reason]
    if found:
        one = world.dice.choice(found)
        word = await world.space.store.readmit(one.address)
        world.require(word == ("cut" if one.is_cut else "back"), f"{one.address} was set aside, and is {word}")
        world.seen[f"readmit {word}"] += 1


async def purge(world: World) -> None:
    """Some dead letters, and a task that may be none. A parent stays until its children have been told."""
    while (await world.space.store.promote(100))[1] == 0:
        pass
    await world.check()
    letters = [task.task_id for task in (await world.space.store.dead_letters(3)).tasks]
    others = world.ledger.recent()[:1]
    gone = await world.space.store.purge_dead(letters + [name for name in others if name not in letters])
    world.require(gone >= len(letters), f"of {letters} {gone} were deleted")
    world.seen["dead purged"] += gone
