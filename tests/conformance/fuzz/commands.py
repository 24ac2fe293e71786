"""The commands of a play, each with its share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holdfast.core.acceptance import IfParentFails, Submission, SubmitOptions
from holdfast.core.begun_page import RUNS
from holdfast.core.delivery import Delivery, EmittedBatch, Holding, Settle, Settlement
from holdfast.core.steps import SLEEP
from holdfast.core.worker_records import WorkerKind
from tests.conformance.fuzz.table import LANES, Table
from tests.conformance.stand import Stand
from tests.lua.operations import LARGE, admission, control, flat, introduction, run, submission

LEASE, GRACE = 15_000, 5_000
BAD = (b"{", b"[1]", b'{"operation":"dance"}', b'{"operation":"run","params":{"task_id":"a b"}}', b"\xff", b"nul")


async def submit(table: Table) -> None:
    dice = table.dice
    made = [
        (table.task(), dice.choice(LANES), dice.choice([None, None, 0, 200, 30_000]), dice.choice([None, 2]))
        for _ in range(dice.randint(1, 3))
    ]

    def batch(stand: Stand) -> list[Submission]:
        return [submission(i, lane or stand.queue, delay_ms=delay, max_attempts=most) for i, lane, delay, most in made]

    await table.ask("submit", lambda stand: stand.store.submit(batch(stand)))


async def submit_after(table: Table) -> None:
    """A child of one task or of several; some are not known."""
    dice = table.dice
    child, parents = table.task(), tuple(dict.fromkeys(table.task() for _ in range(dice.randint(1, 3))))
    if child in parents:
        return
    options = SubmitOptions(after=parents, if_parent_fails=dice.choice(list(IfParentFails)))
    await table.ask(
        "submit after",
        lambda stand: stand.store.submit_with_options([submission(child, stand.queue, options=options)]),
    )


async def message(table: Table) -> None:
    task, number, text = table.task(), table.dice.randint(1, 3), table.dice.choice(["more", "more", "other"])
    await table.ask("message", lambda stand: stand.message(task, f"x{number}", text))


async def push(table: Table) -> None:
    task = table.task()
    verb = table.dice.choice(["cancel", "pause", "resume"])
    entry = table.dice.choice(
        [
            run(task, f"m-{task}"),
            run(task, f"f{table.dice.randint(1, 3)}"),
            run(task, None, text="a €"),
            flat(task, "f9"),
            control(verb, task),
            control(verb, "nobody"),
            run(task, "big", text="x" * LARGE),
            table.dice.choice(BAD),
        ]
    )
    await table.ask("push", lambda stand: stand.push(entry))


async def order(table: Table) -> None:
    """Half of them to a task that some worker was given."""
    held = [one.task_id for deliveries in table.held.values() for one in deliveries]
    task = table.dice.choice(held) if held and table.chance(0.5) else table.task()
    verb = table.dice.choice(["cancel", "pause", "pause", "resume", "resume"])
    await table.ask(verb, lambda stand: getattr(stand.store, verb)(task, "asked"))


async def begin(table: Table) -> None:
    """One more worker."""
    name = f"w{table.seen['register']}"
    [kind] = table.dice.choices(list(WorkerKind), [4, 1, 12])
    await table.ask("register", lambda stand: stand.store.register(introduction(name, kind=kind)))
    table.held[name] = []


async def pull(table: Table) -> None:
    """Settle some, claim some; now and then ask once more what was asked before, or what was asked long ago."""
    worker, dice = table.worker(), table.dice
    settlements = [_settlement(table, one) for one in table.held[worker] if table.chance(0.5)]
    table.requests[worker] += dice.choices([1, 0, -1], [20, 1, 1])[0]
    request, slots, ahead = table.requests[worker], dice.randint(0, 4), dice.choice([0, 0, 3])
    lanes = dice.sample(LANES, dice.randint(1, 2))
    pulled = await table.ask(
        "pull",
        lambda stand: stand.store.pull(worker, request, slots, table.lanes(stand, lanes), settlements, (), ahead),
    )
    done = {one.claim for one in settlements}
    known = {one.claim for one in table.held[worker]}
    table.held[worker] = [one for one in table.held[worker] if one.claim not in done]
    table.held[worker] += [one for one in pulled.deliveries if one.claim not in known]
    for verdict in pulled.verdicts:
        table.seen[f"settle {verdict}"] += 1
    table.seen["claims"] += len(pulled.deliveries)
    table.seen["ahead"] += max(0, len(pulled.deliveries) - slots)


def _settlement(table: Table, delivery: Delivery) -> Settlement:
    kind = table.dice.choice([Settle.COMPLETED, Settle.COMPLETED, *Settle])
    checkpoint = b'"half"' if table.chance(0.2) else None
    delay = table.dice.choice([0, 100, 5_000])
    return Settlement(delivery.task_id, delivery.claim, kind, b'"r"', delay, "a | reason", checkpoint)


async def emit(table: Table) -> None:
    worker = table.worker()
    held = [one for one in table.held[worker] if table.chance(0.5)]
    first, count = table.dice.randint(1, 4), table.dice.randint(1, 3)
    values = b"[%s]" % b",".join([b'"a part"'] * count)
    batches = [EmittedBatch(one.task_id, one.claim, one.run, first, count, values) for one in held]
    await table.ask("emit", lambda stand: stand.store.emit(batches))
    for one in held:
        await table.ask("parts", lambda stand, one=one: stand.store.emitted_parts(one.task_id, first))


async def renew(table: Table) -> None:
    worker = table.worker()
    held = [one for one in table.held[worker] if table.chance(0.9)]
    table.held[worker] = held
    told = [Holding(one.task_id, one.claim, table.dice.choice(["", "1/2"])) for one in held]
    answered, state = table.requests[worker], table.dice.choices(["live", "draining"], [12, 1])[0]
    await table.ask("renew", lambda stand: stand.store.renew(worker, state, answered, told))


async def step(table: Table) -> None:
    """A step or a sleep of a task that a worker was given; it may have lost it."""
    held = [one for deliveries in table.held.values() for one in deliveries]
    if not held:
        return
    one, place, ms = table.dice.choice(held), table.dice.randrange(3), table.dice.choice([0, 100, 5_000])
    result = table.dice.choice([b"1", b'"two"'])
    if table.chance(0.5):
        await table.ask("step", lambda stand: stand.store.step(one.task_id, one.claim, place, "fetch", result))
    else:
        await table.ask("sleep", lambda stand: stand.store.sleep(one.task_id, one.claim, place, SLEEP, ms))


async def crash(table: Table) -> None:
    """A death; what it held is settled late now and then."""
    worker, charged = table.worker(), table.chance(0.7)
    some = {
        one.task_id: table.dice.choice([RUNS, one.claim, "9:w:9"]) for one in table.held[worker] if table.chance(0.6)
    }
    begun = some if table.chance(0.5) else None
    await table.ask("recover", lambda stand: stand.store.recover(worker, "died", charged, begun=begun))
    if table.chance(0.6):
        table.held.pop(worker)


async def admit(table: Table) -> None:
    worker = table.worker()
    head = await table.ask("inbox", lambda stand: stand.store.inbox(worker))
    if head is not None:
        await table.ask("admit", lambda stand: stand.store.admit(worker, admission(head[1])))


async def look_after(table: Table) -> None:
    """A steward's step."""
    some = [name for name in table.held if table.chance(0.8)]
    await table.ask("vouch", lambda stand: stand.store.vouch(some))
    limit = table.dice.randint(1, 20)
    silent, begun = table.worker(), {table.task(): RUNS for _ in range(table.dice.randint(0, 2))}
    last = table.dice.randint(0, abs(table.requests[silent]))
    await table.ask("last request", lambda stand: stand.store.last_request(silent))
    await table.ask("take back", lambda stand: stand.store.take_back(silent, last, begun))
    await table.ask("promote", lambda stand: stand.store.promote(limit))
    await table.ask("reap", lambda stand: stand.store.reap(LEASE, GRACE))
    await table.ask("audit", lambda stand: stand.store.audit(stand.queue, 100, ""))
    await table.ask("ring", lambda stand: stand.store.ring(stand.queue))
    await table.ask("left", lambda stand: stand.store.left([stand.queue]))
    if table.chance(0.2):
        await table.ask("trim", lambda stand: stand.store.trim(60_000, 5))


async def operate(table: Table) -> None:
    """An operator's step."""
    task = table.task()
    await table.ask("retry", lambda stand: stand.store.retry(task, "again"))
    if table.chance(0.2):
        await table.ask("purge", lambda stand: stand.store.purge_dead([task, f"{task}.r1"]))
    if table.chance(0.3):
        await table.ask("readmit", _readmit_newest)
    if table.chance(0.1):
        await table.ask("clear", lambda stand: stand.store.clear(stand.queue, 3))


async def _readmit_newest(stand: Stand) -> str:
    newest = await stand.store.unreadable(1)
    return await stand.store.readmit(newest[0].address) if newest else ""


async def look(table: Table) -> None:
    task = table.task()
    await table.ask("get", lambda stand: stand.store.get(task))
    await table.ask("step names", lambda stand: stand.store.step_names(task))
    await table.ask("place", lambda stand: stand.store.place(task))
    await table.ask("parents", lambda stand: stand.store.parents(task))


COMMANDS: dict[Callable[[Table], Awaitable[None]], float] = {
    submit: 10,
    submit_after: 4,
    message: 6,
    push: 6,
    order: 5,
    begin: 1,
    pull: 30,
    renew: 4,
    emit: 3,
    step: 3,
    crash: 1,
    admit: 2,
    look_after: 4,
    operate: 3,
    look: 5,
}
