"""Stewards, any number of them at once."""

from __future__ import annotations

from holdfast.core.delivery import Delivery, Settle, Settlement
from tests.lua.fuzz.nemesis import accounts, notes_of
from tests.lua.fuzz.world import World

TENDED_SHARE = 0.03  # of all steps
LEASE_MS, GRACE_MS, KEEP_MS = 5_000, 1_000, 30_000


async def promote(world: World) -> None:
    promoted, _ = await world.space.store.promote(10)
    world.seen["promoted"] += promoted
    counted, _ = await world.space.store.look_at_batches(10)
    world.require(not counted, f"{counted} ends of tasks were not counted in their batches")


async def unserved(world: World) -> None:
    """With a time so long that no task is ended: every task is to run."""
    await world.space.store.unserved(10**12, 10)


async def reap(world: World) -> None:
    world.seen["reaped"] += len(await world.space.store.reap(LEASE_MS, GRACE_MS))


async def vouch(world: World) -> None:
    names = [process.incarnation for process in world.processes]
    await world.space.store.vouch(world.dice.sample(names, len(names) // 2))


async def take_back(world: World) -> None:
    """A worker is silent: what it has not begun goes back and counts as nothing; what it has begun stays."""
    if not world.processes:
        return
    process, store = world.dice.choice(world.processes), world.space.store
    last = world.dice.choice([process.exchange.answered, await store.last_request(process.incarnation)])
    begun = process.begun[: world.dice.randint(0, len(process.begun))]
    revoked = [one for one in process.exchange.held.values() if one.task_id not in begun and request_of(one) <= last]
    before = [await accounts(world, one.task_id) for one in revoked]
    world.seen["taken back"] += await store.take_back(process.incarnation, last, notes_of(world, process, begun))
    after = [await accounts(world, one.task_id) for one in revoked]
    world.require(before == after, f"{revoked} of {process.incarnation} had not begun: {before} became {after}")
    for one in revoked:
        process.exchange.finish(one.task_id, Settlement(one.task_id, one.claim, Settle.RETURNED, reason="revoked"))
        world.require(world.rollback or await _has_gone_back(world, one), f"{one} was not taken back")


async def _has_gone_back(world: World, delivery: Delivery) -> bool:
    claim = await world.space.do("HGET", world.space.key(f"task:{delivery.task_id}"), "claim")
    return (claim or b"").decode() != delivery.claim or await world.space.state(delivery.task_id) != "working"


def request_of(delivery: Delivery) -> int:
    return int(delivery.claim.rpartition(":")[2])


async def suspects(world: World) -> None:
    world.seen["startable"] += (await world.space.store.suspects(world.lanes)).startable


async def ring(world: World) -> None:
    await world.space.store.ring(world.dice.choice(world.lanes))


async def tend(world: World) -> None:
    """Orders are carried out, stale entries removed. What is left is judged by the invariants."""
    if world.tending_dice.random() > TENDED_SHARE:
        return
    tended = await world.space.store.tend(world.lanes)
    world.require(tended.lanes == len(world.lanes), f"not all lanes are done: {tended}")
    world.seen["orders heard"] += tended.orders
    world.seen["stale removed"] += tended.stale


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
