"""Stewards, any number of them at once."""

from __future__ import annotations

from tests.lua.fuzz.world import World

LEASE_MS, GRACE_MS, KEEP_MS = 5_000, 1_000, 30_000


async def promote(world: World) -> None:
    promoted, _ = await world.space.store.promote(10)
    world.seen["promoted"] += promoted
    counted, _ = await world.space.store.look_at_batches(10)
    world.require(not counted, f"{counted} ends of tasks were not counted in their batches")


async def unserved(world: World) -> None:
    """So late that nothing ends by it: every task is to run."""
    await world.space.store.unserved(10**12, 10)


async def reap(world: World) -> None:
    world.seen["reaped"] += len(await world.space.store.reap(LEASE_MS, GRACE_MS))


async def vouch(world: World) -> None:
    names = [process.incarnation for process in world.processes]
    await world.space.store.vouch(world.dice.sample(names, len(names) // 2))


async def suspects(world: World) -> None:
    world.seen["startable"] += (await world.space.store.suspects(world.lanes)).startable


async def ring(world: World) -> None:
    await world.space.store.ring(world.dice.choice(world.lanes))


async def audit(world: World) -> None:
    """Where nobody takes entries, audit finds nothing."""
    for lane in world.lanes:
        put_back, _ = await world.space.store.audit(lane, world.dice.choice([3, 50]), "")
        world.require(world.ledger.stolen or not put_back, f"audit of {lane} put back {put_back}, nothing was stolen")
        world.seen["put back"] += put_back


async def trim(world: World) -> None:
    await world.check()
    world.seen["trimmed"] += await world.space.store.trim(KEEP_MS, 10)
    await world.check()  # an id that is gone may begin anew at once
