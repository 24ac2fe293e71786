"""Submissions on options: after other tasks, with an expiry, under keys; and what must be true of each answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.core.acceptance import Accepted, BatchPlace, IfParentFails, Receipt, Submission, SubmitOptions
from holdfast.core.delivery import Delivery
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord
from tests.lua.fuzz.world import World
from tests.lua.operations import submission

KEYS = ("k1", "k2")


async def submit(world: World) -> None:
    task_id = world.name("t")
    wanted = _wanted(world, task_id)
    options = wanted.options
    assert options
    parents = [await _look(world, parent) for parent in options.after]
    waits = options.batch is not None and options.batch.place == 0 and not await _has_ended(world, options.batch.batch)
    holder = await _holder(world, options)
    replaced = await _first_life(world, world.ledger.debounced.get(options.debounce, ""))
    [receipt] = await world.space.store.submit_with_options([wanted])
    world.seen[f"options {receipt.accepted}"] += 1
    if holder:
        world.require(receipt == Receipt(Accepted.DUPLICATE, holder), f"{task_id} under the key of {holder}: {receipt}")
    elif None in parents:
        unknown = options.after[parents.index(None)]
        world.require(receipt == Receipt(Accepted.NO_PARENT, unknown), f"{task_id} after {unknown}: {receipt}")
    else:
        world.require(receipt == Receipt(Accepted.NEW, task_id), f"{task_id} is new: {receipt}")
        await _accepted(world, wanted, options, [one for one in parents if one], waits=waits)
        await _replaced(world, task_id, replaced)
        return
    world.require(await _look(world, task_id) is None, f"{task_id} was refused and is there")


def _wanted(world: World, task_id: str) -> Submission:
    dice, recent = world.dice, world.ledger.recent()
    after = dice.sample(recent, min(len(recent), dice.choice([0, 1, 1, 1, 2, 3])))
    if world.chance(0.05):
        after.append("nobody")
    key, delay = dice.choice(KEYS), dice.choice([None, None, 300, 4000])
    options = SubmitOptions(
        after=tuple(after),
        if_parent_fails=dice.choice([IfParentFails.FAIL, IfParentFails.RUN]),
        expires_in_ms=dice.choice([None, None, 1, 400, 5000]),
    )
    match dice.choice(["", "", "debounce", "unique", "window"]):
        case "debounce":
            options, delay = replace(options, debounce=key), dice.choice([300, 4000])
        case "unique":
            options = replace(options, unique=key)
        case "window":
            options = replace(options, unique=key, unique_ms=dice.choice([50, 3000]))
        case _:
            pass
    lane = dice.choice(world.lanes)
    return submission(task_id, lane, delay_ms=delay, options=_batched(world, task_id, options))


OF_ONE_BATCH = 60  # names that are drawn one after the other
EXPECTED = 3  # tasks of a batch


def _batched(world: World, task_id: str, options: SubmitOptions) -> SubmitOptions:
    """Most submissions are of a batch; its callback comes first, last or in between. Nothing is drawn for it."""
    number, ledger = int(task_id[1:]), world.ledger
    batch = f"b{number // OF_ONE_BATCH}"
    if number % 4 == 0 or batch in ledger.closed:
        return options
    if number % 2 and batch not in ledger.callbacks:
        return replace(options, batch=BatchPlace(batch, 0, EXPECTED, "d1"))
    if ledger.batches[batch] == EXPECTED:
        return options
    return replace(options, batch=BatchPlace(batch, ledger.batches[batch] + 1, EXPECTED, "d1"))


async def _joined(world: World, place: BatchPlace, number: int) -> None:
    """Of a batch; some of these are sealed or canceled by an operator before all their tasks have come."""
    ledger, store, batch = world.ledger, world.space.store, place.batch
    if place.place == 0:
        ledger.callbacks.add(batch)
    else:
        ledger.batches[batch] += 1
    world.seen["of batches"] += 1
    if number % 5 == 0 and ledger.batches[batch] < EXPECTED:
        ledger.closed.add(batch)
        if number % 2:
            await store.cancel_batch(batch, 2, "asked")
        else:
            await store.seal_batch(batch)


async def _has_ended(world: World, batch: str) -> bool:
    record = await world.space.store.batch(batch)
    return record is not None and record.ended_ms is not None


async def _look(world: World, task_id: str) -> TaskRecord | None:
    return await world.space.store.get(task_id, payloads=False) if task_id else None


async def _holder(world: World, options: SubmitOptions) -> str:
    """The task that has this unique key now."""
    task_id, till = world.ledger.unique.get(options.unique, ("", 0)) if options.unique else ("", 0)
    if till:
        return task_id if till > world.space.clock.now_ms else ""
    task = await _first_life(world, task_id)
    return task_id if task and task.state not in TERMINAL else ""


async def _accepted(
    world: World, wanted: Submission, options: SubmitOptions, parents: list[TaskRecord], *, waits: bool
) -> None:
    ledger, task_id = world.ledger, wanted.task_id
    ledger.accept(task_id, wanted.message_id)
    ledger.options[task_id] = options
    ledger.born |= {(task_id, one.task_id): one.created_ms for one in parents}
    if options.unique:
        ledger.unique[options.unique] = (
            task_id,
            (options.unique_ms and world.space.clock.now_ms + options.unique_ms) or 0,
        )
    if options.debounce:
        ledger.debounced[options.debounce] = task_id
    ended = {one.state for one in parents if one.state in TERMINAL} - {State.COMPLETED}
    task = await _look(world, task_id)
    if ended and options.if_parent_fails is IfParentFails.FAIL:
        right = {State.FAILED}
    elif waits or any(one.state not in TERMINAL for one in parents):
        right = {State.WAITING}
    else:
        right = {State.DELAYED} if wanted.delay_ms else {State.SUBMITTED}
    assert task
    ledger.born[task_id, task_id] = task.created_ms
    world.require(task.state in right, f"{task_id} should be {right}, is {task.state}")
    if options.batch:
        await _joined(world, options.batch, int(task_id[1:]))
    if world.chance(0.2):
        again = await world.space.store.submit_with_options([wanted])
        world.require(again == [Receipt(Accepted.DUPLICATE, task_id)], f"{task_id} again is {again}")


async def _replaced(world: World, task_id: str, before: TaskRecord | None) -> None:
    """A submission that had not begun to be due is replaced, and no other."""
    if before is None:
        return
    now = await _look(world, before.task_id)
    assert now
    undecided = before.state in {State.DELAYED, State.WAITING} and before.deliveries == 0
    if undecided:
        world.seen["replaced"] += 1
        fits = now.state is State.CANCELED and now.reason == f"replaced by {task_id}"
    else:
        fits = now.state is before.state
    world.require(fits, f"{before.task_id} was {before.state}, and {task_id} made it {now.state}: {now.reason}")


async def begun(world: World, deliveries: Sequence[Delivery]) -> None:
    """Nobody begins before its parents have ended, nor with one that has failed it, nor after its time."""
    for delivery in deliveries:
        if delivery.batch.is_callback and ".r" not in delivery.task_id:
            world.seen["callbacks"] += 1
            counts = delivery.batch.counts
            world.require(counts is not None, f"{delivery.task_id} is a callback and was given no counts")
            ended = await world.space.store.batch(delivery.batch.id)
            world.require(
                ended is None or ended.ended_ms is not None, f"{delivery.task_id} runs, its batch has not ended"
            )
        options = world.ledger.options.get(delivery.task_id)
        if options is None:
            continue
        for parent in options.after if await _first_life(world, delivery.task_id) else ():
            task = await _look(world, parent)
            if task is None or task.created_ms != world.ledger.born[delivery.task_id, parent]:
                continue  # forgotten
            ended = task.state is State.COMPLETED or (
                task.state in TERMINAL and options.if_parent_fails is IfParentFails.RUN
            )
            world.require(ended, f"{delivery.task_id} runs, its parent {parent} is {task.state}")
        if await _first_life(world, delivery.task_id):
            await _has_results(world, delivery, options)


async def _has_results(world: World, delivery: Delivery, options: SubmitOptions) -> None:
    """It has the ends of all its parents, forgotten ones included, in the order of `after`."""
    parents, following = await world.space.store.parents(delivery.task_id)
    named = tuple(each.task_id for each in parents)
    world.require(
        following is not None or named == options.after, f"{delivery.task_id} has {named}, not {options.after}"
    )
    world.require(
        delivery.is_child == bool(options.after), f"{delivery.task_id} is delivered as child: {delivery.is_child}"
    )
    for each in parents:
        world.require(each.has_ended, f"{delivery.task_id} runs without the end of {each.task_id}")
        fits = each.state is State.COMPLETED or options.if_parent_fails is IfParentFails.RUN
        world.require(fits, f"{delivery.task_id} runs, and has that its parent {each.task_id} is {each.state}")
    world.seen["results of parents"] += bool(parents)


async def _first_life(world: World, task_id: str) -> TaskRecord | None:
    """The task that was submitted on options; not another life of the same id, which has none."""
    task = await _look(world, task_id)
    return task if task and task.created_ms == world.ledger.born[task_id, task_id] else None
