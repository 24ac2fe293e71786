"""Handlers that emit parts, in workers and in zombies; a command may come twice, or late.

The dice are their own: nothing else in a play depends on parts.
"""

from __future__ import annotations

from functools import partial

import msgspec

from holdfast.core.delivery import EmittedBatch, EmitVerdict
from tests.lua.fuzz.world import World

SHARE = 0.15  # of the steps


async def emit(world: World) -> None:
    dice = world.handlers_dice
    running = [process for process in (*world.processes, *world.zombies) if process.begun]
    if not running or dice.random() > SHARE:
        return
    process = dice.choice(running)
    task_id = dice.choice(process.begun)
    claim = process.exchange.held[task_id].claim
    if claim not in process.runs:  # adopted again after a rollback
        return
    run, first, count = process.runs[claim], process.emitted[claim] + 1 + (dice.random() < 0.1), dice.randint(1, 3)
    process.emitted[claim] = first + count - 1
    values = msgspec.json.encode([[claim, first + place] for place in range(count)])
    batch = EmittedBatch(task_id, claim, run, first, count, values)
    for _ in range(dice.choice([1, 1, 1, 2])):
        await _send(world, batch)
    if dice.random() < 0.1:
        world.late.append(partial(_send, world, batch))


async def _send(world: World, batch: EmittedBatch) -> None:
    record = await world.space.do("HMGET", world.space.key(f"task:{batch.task_id}"), "state", "claim")
    before = await world.space.store.emitted_parts(batch.task_id, 0)
    [verdict] = await world.space.store.emit([batch])
    world.seen[f"emit {verdict}"] += 1
    is_latest = record == [b"working", batch.claim.encode()]
    world.require(
        verdict is (EmitVerdict.OK if is_latest else EmitVerdict.LOST), f"emit {batch}: {verdict} of {record}"
    )
    page = await world.space.store.emitted_parts(batch.task_id, before.last)
    expected = msgspec.json.decode(batch.values) if is_latest and page.last > before.last else []
    world.require([part.value for part in page.parts] == expected, f"emit {batch}: {page}")
    ours = [part.value[1] for part in before.parts if part.value[0] == batch.claim]
    world.require(
        world.rollback or bool(expected) or not is_latest or batch.number in ours,
        f"emit {batch}: dropped behind {ours}",
    )
