"""Two namespaces with the same calls: one with the parts that answer usual calls, one with the whole operations alone.

Both must answer the same and hold the same.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from redis.exceptions import ResponseError

from holdfast.core.acceptance import BatchPlace, Submission, SubmitOptions
from holdfast.core.delivery import Holding, Pulled, Settle, Settlement
from holdfast.core.worker_records import Introduction, ServedLane, ServedWork
from holdfast.errors import StoreError
from holdfast.store.redis.scripts import text
from tests.lua.history import apart
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import introduction, run, submission

GUARDS = ("fast_pull", "fast_submit")
WHOLE = dict.fromkeys(GUARDS, "-- answers nothing\n")
EVERY = 8  # actions: then both are compared
WORKERS = {"a": None, "b": frozenset({""}), "c": None}  # and the names of their handlers, where they say them
SEVERAL = "c"  # serves two lanes, the others one
KINDS = {
    Settle.COMPLETED: 20,
    Settle.FAILED: 1,
    Settle.RETRY: 1,
    Settle.RELEASE: 1,
    Settle.SUSPENDED: 1,
    Settle.INPUT_REQUIRED: 1,
}

Call = Callable[[Namespace], Awaitable[object]]


@dataclass(slots=True)
class Twins:
    usual: Namespace
    whole: Namespace
    dice: random.Random
    held: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, list[tuple[str, str]]])
    settled: list[Settlement] = field(default_factory=list[Settlement])
    tasks: int = 0

    async def both(self, call: Call) -> Any:
        """The answer of both, which must be the same."""
        answers = [(space, await _answer(call(space))) for space in (self.usual, self.whole)]
        one, other = (repr(answer).replace(space.queue, "queue") for space, answer in answers)
        assert one == other
        return answers[0][1]

    async def compare(self) -> None:
        one, other = [_plain(await space.store.snapshot(), space.queue) for space in (self.usual, self.whole)]
        differing = {key: (one.get(key), other.get(key)) for key in {*one, *other} if one.get(key) != other.get(key)}
        assert not differing, differing

    async def answered(self) -> int:
        """How many calls a guard answered."""
        return int(await self.usual.do("GET", f"usual of {{{self.usual.queue}}}") or 0)

    def new_id(self) -> str:
        self.tasks += 1
        return f"t{self.tasks}"

    def any_id(self) -> str:
        return f"t{self.dice.randint(max(1, self.tasks - 30), max(1, self.tasks))}"


async def _answer(asked: Awaitable[object]) -> object:
    try:
        return await asked
    except (StoreError, ResponseError) as error:  # a refusal is an answer, too
        return type(error).__name__


def _plain(snapshot: dict[str, Any], queue: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(snapshot).replace(queue, "queue"))
    _spell_out_trails(found)
    for key in found.values():
        key["ttl"] = key["ttl"] >= 0
        if key["type"] == "set":
            key["content"] = sorted(key["content"])
        if key["type"] == "stream":
            key["content"] = [*apart(key["content"])]
    return found


def _spell_out_trails(found: dict[str, Any]) -> None:
    """The lines of a trail that stand in a record become those of its list; those of one moment in any order."""
    for key, record in list(found.items()):
        if "}:task:" not in key or record["type"] != "hash" or "claimed" not in record["content"]:
            continue
        _, at, claim = record["content"].pop("claimed").split(" ")
        lines, is_all = [f"{at} claimed {claim}"], key.replace("}:task:", "}:trail:") not in found
        trail = found.setdefault(key.replace("}:task:", "}:trail:"), {"type": "list", "ttl": -1, "content": []})
        if is_all and record["content"]["state"] == "completed":
            of = record["content"]
            lines.append(f"{of['finished']} settled completed 1 {of['last_claim']} {of.get('reason', '')}")
        trail["content"] = sorted([*lines, *trail["content"]])
    for key, trail in found.items():
        if "}:trail:" in key:
            trail["content"] = sorted(trail["content"])


def _counted(guard: str) -> str:
    """A guard that counts its answers, beside the namespace."""
    return re.sub(r"(?m)^(if .* then) (?=return)", r"\1 redis.call('INCR', 'usual of {' .. KEYS[1] .. '}') ", guard)


@asynccontextmanager
async def twins(url: str, seed: int, replaced: Mapping[str, str] | None = None) -> AsyncGenerator[Twins]:
    counted = {**(replaced or {}), **{guard: _counted((replaced or {}).get(guard) or text(guard)) for guard in GUARDS}}
    async with namespace(url, counted) as usual, namespace(url, WHOLE) as whole:
        made = Twins(usual, whole, random.Random(seed))
        try:
            for worker, names in WORKERS.items():
                made.held[worker] = []
                await made.both(
                    lambda space, who=worker, names=names: space.store.register(_introduction(space, who, names))
                )
            yield made
        finally:
            for space in (usual, whole):
                await space.do("DEL", f"usual of {{{space.queue}}}")


def _introduction(space: Namespace, worker: str, names: frozenset[str] | None) -> Introduction:
    service = names and ServedWork((ServedLane(space.queue),), names)
    return replace(introduction(worker), service=service or None)


async def submit(pair: Twins) -> None:
    ids = [
        pair.new_id() if pair.dice.random() < 0.97 else pair.any_id() for _ in range(pair.dice.choice([1, 1, 5, 20]))
    ]
    more: dict[str, Any] = pair.dice.choice(
        [
            *[{}] * 12,
            {"name": "mail"},
            {"max_attempts": 2, "timeout_ms": 500},
            {"delay_ms": 60},
            {"concurrency_key": "k"},
            {"lane": "slow"},
        ]
    )
    await pair.both(lambda space: space.submit(*ids, **more))


async def submit_to_lanes(pair: Twins) -> None:
    """Tasks of several lanes in one call."""
    ids = [pair.new_id() for _ in range(3)]
    await pair.both(
        lambda space: space.store.submit(
            [submission(one, lane) for one, lane in zip(ids, (space.queue, "slow", space.queue), strict=True)]
        )
    )


async def submit_with_options(pair: Twins) -> None:
    options = pair.dice.choice(
        [
            SubmitOptions(after=(pair.any_id(),)),
            SubmitOptions(expires_in_ms=300),
            SubmitOptions(unique="u", unique_ms=200),
        ]
    )
    task_id = pair.new_id()
    if pair.tasks % 4 == 0:
        options = SubmitOptions(batch=BatchPlace(f"b{pair.tasks // 40}", pair.tasks % 40 // 4, 6, "d1"))

    def made(space: Namespace) -> Submission:
        plain = submission(task_id, space.queue)
        return Submission(task_id, plain.message_id, plain.digest, plain.operation, plain.lane, options=options)

    await pair.both(lambda space: space.store.submit_with_options([made(space)]))


async def message(pair: Twins) -> None:
    task_id, message_id = pair.any_id(), pair.dice.choice(["m2", "m3"])
    await pair.both(lambda space: space.message(task_id, message_id))


async def order(pair: Twins) -> None:
    verb = pair.dice.choice(["cancel", "pause", "resume"])
    task_id = pair.any_id()
    await pair.both(lambda space: getattr(space.store, verb)(task_id, "asked"))


async def cancel_early(pair: Twins) -> None:
    """A cancel overtakes its task."""
    task_id = f"t{pair.tasks + 1}"
    await pair.both(lambda space: space.store.cancel(task_id, "asked"))


async def push(pair: Twins) -> None:
    raw = pair.dice.choice(
        [run(pair.new_id()), run(pair.any_id(), "m9"), b"nothing", b'{"_b":"%s:99999",}' % pair.any_id().encode()]
    )
    await pair.both(lambda space: space.push(raw))


async def push_alone(pair: Twins) -> None:
    """Nothing but one foreign entry waits."""
    await pair.both(lambda space: space.store.clear(space.queue, 1000))
    new = pair.new_id()
    raw = pair.dice.choice(
        [
            *[run(new), run(new, None), run(new, call="mail")] * 2,
            run(pair.any_id(), "m9"),
            run(new, text="é"),
            run("a b"),
        ]
    )
    await pair.both(lambda space: space.push(raw))
    await pull(pair)


async def copy(pair: Twins) -> None:
    """An entry stands in the lane twice."""
    raw = await pair.usual.do("LINDEX", pair.usual.queue, 0)
    if raw:
        await pair.both(lambda space: space.do("LINSERT", space.queue, "AFTER", raw, raw))


async def forge(pair: Twins) -> None:
    """An entry stands at the head of the lane under another number, too."""
    raw = await pair.usual.do("LINDEX", pair.usual.queue, -1)
    if raw:
        forged = re.sub(rb'(^{"_b":"[^:]+):\d+', rb"\1:99999", raw)
        await pair.both(lambda space: space.do("LPUSH", space.queue, forged))


async def damage(pair: Twins) -> None:
    """Somebody changes a record by hand."""
    waiting = await pair.usual.do("ZRANGE", pair.usual.key(f"submitted:{pair.usual.queue}"), 0, 9)
    task_id = pair.dice.choice([pair.any_id(), *(one.decode() for one in waiting)])
    task, op = f"task:{task_id}", f"op:{task_id}"
    ways: list[Callable[[Namespace], tuple[str, ...]]] = [
        lambda space: ("HDEL", space.key(task), "digest"),
        lambda space: ("HSET", space.key(task), "extra", "1"),
        lambda space: ("HSET", space.key(task), "timeout", "soon"),
        lambda space: ("HSET", space.key(task), "max_attempts", "many"),
        lambda space: ("HSET", space.key(task), "max_attempts", "1000000000000000"),
        lambda space: ("SET", space.key(op), "nothing"),
        lambda space: ("DEL", space.key(op)),
        lambda space: ("DEL", space.key(task)),
        lambda space: ("SET", space.key(task), "no record"),
    ]
    way = pair.dice.choice(ways)
    if await pair.both(lambda space: space.store.get(task_id)):
        await pair.both(lambda space: space.do(*way(space)))


async def pull(pair: Twins) -> None:
    worker = pair.dice.choice([*WORKERS])
    held = pair.held[worker]
    pair.dice.shuffle(held)
    done = [_settlement(pair, *held.pop()) for _ in range(pair.dice.randint(0, len(held)))]
    done += _refused(pair, held, done)
    slots, weights = pair.dice.choice([0, 1, 5, 20]), pair.dice.choice([(), (2, 1)])

    def pulled(space: Namespace) -> Awaitable[Pulled]:
        if worker != SEVERAL:
            return space.pull(worker, slots, *done)
        return space.pull(worker, slots, *done, lanes=["slow", space.queue], weights=weights)

    answer = await pair.both(pulled)
    pair.settled = [*pair.settled[-5:], *done]
    held += [(one.task_id, one.claim) for one in answer.deliveries]


def _refused(pair: Twins, held: list[tuple[str, str]], done: list[Settlement]) -> list[Settlement]:
    """Now and then a settlement of before, one of this request once more, or one under a claim that is none."""
    lost = [_settlement(pair, task_id, "1:a:0") for task_id, _ in held[:1]]
    ways = [way for way in (pair.settled[-5:], done[:1], lost) if way]
    return [pair.dice.choice(pair.dice.choice(ways))] if ways and pair.dice.random() < 0.15 else []


async def hear(pair: Twins) -> None:
    """A worker has heard the bell."""
    await pair.both(lambda space: space.do("DEL", space.key(f"bell:{space.queue}")))


def _settlement(pair: Twins, task_id: str, claim: str) -> Settlement:
    [kind] = pair.dice.choices(list(KINDS), list(KINDS.values()))
    if pair.dice.random() < 0.9:
        kind = Settle.COMPLETED
    reason = pair.dice.choice(["", "", "", "why"])
    checkpoint = b'{"at": 1}' if pair.dice.random() < 0.03 else None
    delay = 100 if kind is Settle.RETRY else 0
    return Settlement(task_id, claim, kind, b'"done"', delay_ms=delay, reason=reason, checkpoint=checkpoint)


async def pull_again(pair: Twins) -> None:
    """The same request once more, or one from before."""
    worker = pair.dice.choice([*WORKERS])
    before = pair.dice.choice([0, 1])
    await pair.both(lambda space: space.pull(worker, 5, request=max(1, space._requests.get(worker, 1) - before)))  # pyright: ignore[reportPrivateUsage]


async def renew(pair: Twins) -> None:
    worker = pair.dice.choice([*WORKERS])
    checkpoint = b'{"at": 2}' if pair.dice.random() < 0.2 else None
    progress = "1/2" if pair.dice.random() < 0.2 else ""
    held = [Holding(task_id, claim, progress, checkpoint) for task_id, claim in pair.held[worker]]
    await pair.both(lambda space: space.store.renew(worker, "live", 0, held, [space.queue]))


async def bound(pair: Twins) -> None:
    """A lane is paused and resumed, and meanwhile workers pull."""
    await pair.both(lambda space: space.store.pause_lane(space.queue, "asked"))
    await pull(pair)
    await pair.both(lambda space: space.store.resume_lane(space.queue))


async def look_after(pair: Twins) -> None:
    await pair.both(lambda space: space.store.promote(100))
    await pair.both(lambda space: space.store.audit(space.queue, 100, ""))
    await pair.both(lambda space: space.store.tend([space.queue, "slow"]))


async def put_right(pair: Twins) -> None:
    """Nothing unusual waits any more: the lane is cleared, what is unfinished is canceled."""
    await pair.both(lambda space: space.store.clear(space.queue, 1000))
    for number in range(1, pair.tasks + 1):
        await pair.both(lambda space, number=number: space.store.cancel(f"t{number}", "over"))
    await pair.both(lambda space: space.advance(10_000))
    await look_after(pair)


ACTIONS: dict[Callable[[Twins], Awaitable[None]], float] = {
    submit: 20, submit_to_lanes: 6, pull: 40, hear: 5, submit_with_options: 0.5, message: 1, order: 1, push: 1,
    push_alone: 4, copy: 2, forge: 1, damage: 1.5, pull_again: 1, cancel_early: 0.5, renew: 3, bound: 0.5,
    look_after: 1, put_right: 2,
}  # fmt: skip


async def play(pair: Twins, steps: int) -> Counter[str]:
    """Random actions; again and again, both namespaces hold the same."""
    seen = Counter[str]()
    for step in range(steps):
        ms = pair.dice.choice([0, 1, 50])
        await pair.both(lambda space, ms=ms: space.advance(ms))
        [action] = pair.dice.choices(list(ACTIONS), list(ACTIONS.values()))
        await action(pair)
        if step % EVERY == 0:
            await pair.compare()
        seen[action.__name__] += 1
    await pair.compare()
    seen["answered"] = await pair.answered()
    return seen


async def play_twins(url: str, seed: int, steps: int, replaced: Mapping[str, str] | None = None) -> Counter[str]:
    async with twins(url, seed, replaced) as pair:
        return await play(pair, steps)
