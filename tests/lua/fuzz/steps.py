"""Handlers that record steps and go to sleep, in workers and in zombies; a command may come twice, or late.

The dice are their own. In a play of several lanes without a rollback nothing else depends on steps: no handler sleeps,
no command is late. The other plays have all of it.
"""

from __future__ import annotations

from functools import partial

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.steps import SLEEP, StepVerdict
from tests.lua.fuzz.process import Process
from tests.lua.fuzz.world import World

SHARE = 0.1  # of the steps of a play
PLACES = 4


async def keep(world: World) -> None:
    dice = world.steps_dice
    running = [process for process in (*world.processes, *world.zombies) if process.begun]
    if not running or dice.random() > SHARE:
        return
    process = dice.choice(running)
    task_id, place = dice.choice(process.begun), dice.randrange(PLACES)
    claim = process.exchange.held[task_id].claim
    if dice.random() < 0.5:
        send = partial(_step, world, task_id, claim, place, dice.choice([b"1", b"2"]))
    else:
        send = partial(_sleep, world, process, task_id, claim, place, dice.choice([0, 500, 3000]))
    for _ in range(dice.choice([1, 1, 1, 2])):
        await send()
    if _sleeps(world) and dice.random() < 0.1:
        world.late.append(send)


def _sleeps(world: World) -> bool:
    return world.plain or world.rollback


async def _standing(world: World, task_id: str, claim: str, place: int) -> tuple[bool, bytes | None]:
    """True if the claim is the task's latest, and the text of the step that stands there."""
    record = await world.space.do("HMGET", world.space.key(f"task:{task_id}"), "state", "claim")
    text = await world.space.do("HGET", world.space.key(f"steps:{task_id}"), place)
    return record == [b"working", claim.encode()], text


async def _step(world: World, task_id: str, claim: str, place: int, result: bytes) -> None:
    is_latest, before = await _standing(world, task_id, claim, place)
    verdict = (await world.space.store.step(task_id, claim, place, "fetch", result)).verdict
    is_same = before is None or before.split(b" ", 2)[2] == b"fetch\n" + result
    wanted = StepVerdict.LOST if not is_latest else StepVerdict.OK if is_same else StepVerdict.OTHER
    await _held(world, task_id, claim, place, before, verdict, wanted)


async def _sleep(world: World, process: Process, task_id: str, claim: str, place: int, ms: int) -> None:
    """A handler that still runs goes to sleep where the store says so."""
    is_latest, before = await _standing(world, task_id, claim, place)
    kept = await world.space.store.sleep(task_id, claim, place, SLEEP, ms)
    is_sleep = before is None or before.split(b" ", 2)[2].startswith(SLEEP.encode())
    wanted = StepVerdict.LOST if not is_latest else StepVerdict.OK if is_sleep else StepVerdict.OTHER
    await _held(world, task_id, claim, place, before, kept.verdict, wanted)
    if kept.verdict is StepVerdict.OK:
        _, text = await _standing(world, task_id, claim, place)
        world.require(
            text and int(text.rpartition(b"\n")[2]) == kept.due_ms, f"a sleep of {task_id}: {kept} of {text!r}"
        )
        if _sleeps(world) and kept.left_ms > 0 and task_id in process.begun and process.exchange.holds(task_id, claim):
            process.exchange.finish(task_id, Settlement(task_id, claim, Settle.SLEEP, delay_ms=kept.due_ms))
            world.seen["went to sleep"] += 1


async def _held(
    world: World,
    task_id: str,
    claim: str,
    place: int,
    before: bytes | None,
    verdict: StepVerdict,
    wanted: StepVerdict,
) -> None:
    _, after = await _standing(world, task_id, claim, place)
    world.seen[f"step {verdict}"] += 1
    world.require(verdict is wanted, f"step {place} of {task_id} under {claim}: {verdict}, not {wanted}")
    is_kept = after == before if before is not None or verdict is not StepVerdict.OK else after is not None
    world.require(is_kept, f"step {place} of {task_id}: {before!r} is {after!r} by {verdict}")
