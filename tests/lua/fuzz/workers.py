"""Workers: pull, run, renew, admit; each command may get lost, come late, or lose its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from holdfast.core.delivery import Holding, Pulled, Renewed, Settle, Settlement, Standing
from holdfast.core.pull_protocol import UNBOUNDED, Request
from holdfast.core.worker_records import Admission, WorkerKind
from tests.lua.fuzz import submit_options
from tests.lua.fuzz.process import Process
from tests.lua.fuzz.world import World
from tests.lua.operations import admission

OUTCOMES = {
    Settle.COMPLETED: 50,
    Settle.INPUT_REQUIRED: 12,
    Settle.RETRY: 12,
    Settle.SUSPENDED: 7,
    Settle.FAILED: 5,
    Settle.RELEASE: 5,
    Settle.RETURNED: 5,
    Settle.DEFER: 4,
    Settle.AUTH_REQUIRED: 3,
    Settle.REJECTED: 2,
    Settle.EXHAUSTED: 2,
    Settle.UNREADABLE: 2,
}
FAILURES = frozenset({Settle.RETRY, Settle.FAILED, Settle.REJECTED, Settle.EXHAUSTED, Settle.UNREADABLE})


async def pull(world: World) -> None:
    if not world.processes:
        return
    process = world.dice.choice(world.processes)
    if process.may_wait and world.chance(0.2):
        _wait_for_bell(world, process)
        return
    ahead = world.dice.randint(0, process.room)
    request = process.next_request(0 if process.draining else UNBOUNDED, ahead)
    match world.dice.choices(["answered", "answer lost", "late", "lost"], [80, 7, 6, 7])[0]:
        case "answered":
            await _answered(world, process, request)
        case "answer lost":
            await _send(world, process, request)
            world.seen["pull answer lost"] += 1
        case "late":
            world.late.append(lambda: _late(world, process, request))
        case _:
            world.seen["pull lost"] += 1


def _wait_for_bell(world: World, process: Process) -> None:
    """Its next pull waits behind its wait for a bell; it is answered whenever that rings, also after a later one."""
    request = process.exchange.request_behind_bell()

    async def rung() -> None:
        if process in world.processes and process.exchange.waiting is request and world.chance(0.8):
            await _answered(world, process, request)
            world.seen["waited"] += 1
        else:  # the worker has asked again since, or is gone, or never hears of it
            await _late(world, process, request)

    world.late.append(rung)


async def _send(world: World, process: Process, request: Request) -> Pulled:
    return await world.pull(process, request)


async def _late(world: World, process: Process, request: Request) -> None:
    pulled = await _send(world, process, request)
    world.seen[f"late pull {pulled.standing}"] += 1


async def _answered(world: World, process: Process, request: Request) -> None:
    pulled = await _send(world, process, request)
    for verdict in pulled.verdicts:
        world.seen[f"settle {verdict}"] += 1
    if pulled.standing is Standing.STALE:
        world.require(world.rollback, f"{process.incarnation} lives and its request {request.number} is stale")
    held = set(process.exchange.held)
    adopted = [delivery.task_id for delivery in pulled.deliveries if delivery.task_id in held]
    world.require(world.rollback or not adopted, f"{process.incarnation} got what it holds: {adopted}")
    most = max(request.slots + request.ahead, process.waited)
    world.require(len(pulled.deliveries) <= most, f"{request} was given {pulled.deliveries}")
    world.seen["ahead"] += max(0, len(pulled.deliveries) - request.slots)
    suspects = sum(delivery.solo for delivery in pulled.deliveries)
    alone = suspects == len(pulled.deliveries) == 1 and not held
    world.require(
        world.rollback or not suspects or alone,
        f"{process.incarnation} holds {held} and got a suspect: {pulled.deliveries}",
    )
    is_first = pulled.standing is not Standing.REPLAY  # a suspect may have been cleared between two answers
    if pulled.deliveries and process.kind is not WorkerKind.SINGLE and is_first and not world.rollback:
        world.require(bool(suspects) == (process.kind is WorkerKind.QUARANTINE), f"{process} got {pulled.deliveries}")
    world.seen["suspects"] += suspects
    process.inbox = process.inbox or pulled.inbox > 0
    fresh = process.exchange.answer(request, pulled)
    world.deliver(process, fresh)
    await submit_options.begun(world, fresh)
    if pulled.standing in {Standing.DEAD, Standing.UNKNOWN}:
        world.processes.remove(process)
        world.seen[f"worker told {pulled.standing}"] += 1
    elif process.draining and process.exchange.settled:
        world.processes.remove(process)
        await world.space.store.recover(process.incarnation, "left", False)
        world.seen["worker drained"] += 1


async def heed(world: World) -> None:
    """Hints: a worker stops the tasks that they name, unless the hint is lost."""
    for process in world.processes:
        word = await world.space.do("LPOP", world.space.key(f"control:{process.incarnation}"))
        if word is None or world.chance(0.3):
            continue
        kind, task_id, claim = [*word.decode().split(":", 2), "", ""][:3]
        if kind == "return":
            _give_back(world, process)
        if process.exchange.holds(task_id, claim):
            world.seen[f"heard {kind}"] += 1
            process.exchange.finish(task_id, _stopped(task_id, claim) if kind == "pause" else None)


def _give_back(world: World, process: Process) -> None:
    for task_id in process.waiting:
        claim = process.exchange.held[task_id].claim
        process.exchange.finish(task_id, Settlement(task_id, claim, Settle.RETURNED, reason="asked for"))
        world.seen["given back"] += 1


def _stopped(task_id: str, claim: str) -> Settlement:
    return Settlement(task_id, claim, Settle.SUSPENDED, reason="pause", checkpoint=b"half")


async def finish(world: World) -> None:
    """A handler ends, in a worker or in a zombie. One poisoned task in a while takes its process along."""
    running = [process for process in (*world.processes, *world.zombies) if process.exchange.held]
    if not running:
        return
    process = world.dice.choice(running)
    task_id = world.dice.choice(process.begun)
    if task_id.startswith("p") and process in world.processes and world.chance(0.8):
        world.processes.remove(process)
        await world.space.store.recover(process.incarnation, "poisoned", True)
        world.seen["poisoned"] += 1
        return
    kind = world.dice.choices(list(OUTCOMES), list(OUTCOMES.values()))[0]
    delay = world.dice.choice([0, 500, 3000]) if kind in {Settle.RETRY, Settle.DEFER} else 0
    claim = process.exchange.held[task_id].claim
    checkpoint = b"saved" if kind in {Settle.SUSPENDED, Settle.RELEASE} and world.chance(0.5) else None
    error = f"E\n\nmessage {world.dice.randrange(4)}" if kind in FAILURES else ""
    process.exchange.finish(
        task_id, Settlement(task_id, claim, kind, process.outcome(task_id), delay, "why", checkpoint, error)
    )


async def renew(world: World) -> None:
    if not world.processes:
        return
    process = world.dice.choice(world.processes)
    if world.chance(0.03):
        process.draining = True
    if world.chance(0.1):
        answered, holdings = process.exchange.answered, process.exchange.holdings({})
        world.late.append(lambda: _late_renewal(world, process, answered, holdings))
        return
    renewed = await _renew(world, process, process.exchange.answered, process.exchange.holdings({}))
    if renewed.standing is not Standing.OK:
        world.processes.remove(process)
        return
    for task_id, _ in renewed.lost:
        process.exchange.finish(task_id, None)
        world.seen["renew lost"] += 1
    for held in process.exchange.holdings({}):
        if (held.task_id, held.claim) in renewed.to_pause and process.exchange.holds(held.task_id, held.claim):
            process.exchange.finish(held.task_id, _stopped(held.task_id, held.claim))
            world.seen["renew to pause"] += 1


async def _renew(world: World, process: Process, answered: int, holdings: Sequence[Holding]) -> Renewed:
    state = "draining" if process.draining else "live"
    renewed = await world.space.store.renew(process.incarnation, state, answered, holdings)
    world.require(world.rollback or not renewed.returned, f"{process.incarnation} lost hold of {renewed.returned}")
    world.seen["returned"] += renewed.returned
    return renewed


async def _late_renewal(world: World, process: Process, answered: int, holdings: Sequence[Holding]) -> None:
    await _renew(world, process, answered, holdings)
    world.seen["late renewal"] += 1


async def admit(world: World) -> None:
    """Read what was too large for the scripts. An answer that is lost is asked for again, a command may come twice."""
    for process in world.processes:
        if not process.inbox:
            continue
        head = await world.space.store.inbox(process.incarnation)
        if head is None:
            process.inbox = False
            continue
        read = admission(head[1])
        if world.chance(0.2):
            world.late.append(partial(_late_admission, world, process.incarnation, read))
        else:
            world.seen[f"admit {await world.space.store.admit(process.incarnation, read)}"] += 1


async def _late_admission(world: World, incarnation: str, read: Admission) -> None:
    word = await world.space.store.admit(incarnation, read)
    world.seen[f"late admit {word}"] += 1
