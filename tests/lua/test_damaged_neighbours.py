"""Whatever is damaged beside a task that is submitted or retried: it is refused, and nothing of it is written; or it is
whole. It is never half made and then said to be there. Mended, it runs, and others go on all the while.

In each world one key, or one field, is damaged that submissions and retries meet. Then each kind of submission and of
retry is made twice; the damage is mended; each is made once more; and all that may run is run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Accepted, BatchPlace, IfParentFails, Submission, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.errors import StoreError, StoreRefusedError, UnreadableRecordError
from holdfast.store.redis.steward import RedisSteward
from tests.combinations import combined
from tests.lua.invariants import breaches
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import submission
from tests.lua.test_damage_fuzz import MISSING, TEXTS

pytestmark = pytest.mark.anyio

FAR_MS, LATER_MS = 3_600_000, 36_000_000
CALM = "calm"  # a lane that is not damaged
RUN = IfParentFails.RUN
OPTIONS: dict[str, SubmitOptions] = {
    "child": SubmitOptions(after=("par",)),
    "late-child": SubmitOptions(after=("end",), if_parent_fails=RUN),
    "of-batch": SubmitOptions(batch=BatchPlace("b", 2, 4, "d1")),
    "callback": SubmitOptions(batch=BatchPlace("b", 0, 4, "d1")),
    "debounced": SubmitOptions(debounce="d"),
    "unique": SubmitOptions(unique="u"),
    "timed": SubmitOptions(unique="t", unique_ms=500),
    "expires": SubmitOptions(expires_in_ms=LATER_MS),
    "all": SubmitOptions(("par", "end"), RUN, None, LATER_MS, "d2", "u2", None, "", BatchPlace("b", 3, 4, "d1")),
}
RETRIED = ("plain-failed", "of-batch-failed", "child-failed", "two-turns", "waits")
KEYS = (
    "batch:b", "batch_tasks:b", "batches", "batch_looks", "batches_ended", "children:par", "children:end", "task:par",
    "task:end", "task:deb", "ties:deb", "ties:child", "ties:all", "ties:of-batch", "parents:child", "parents:all",
    "outcome:*", "unique", "debounce", "agenda", "waiting", "due", "submitted:*", "seq", "counters", "bell:*",
    "closed", "cancels", "control:steward", "op:child", "messages:*", "keyed:k", "tally", "finished", "dead", "pushes",
    "task:plain-failed", "op:plain-failed", "history:two-turns", "retrying:two-turns", "steps:two-turns",
    "parents:child-failed", "ties:plain-failed.r1", "parents:child-failed.r1", "steps:two-turns.r1",
    "history:two-turns.r1", "trail:child", "leftover", "joining", "turned", "gates:*",
)  # fmt: skip
FIELDS = (
    ("batch:b", "digest"), ("batch:b", "expected"), ("batch:b", "submitted"), ("batch:b", "sealed"),
    ("batch:b", "sealed_by"), ("batch:b", "ended"), ("batch:b", "created"), ("batch:b", "callback"),
    ("unique", "u"), ("unique", "t"), ("debounce", "d"), ("seq", "QUEUE"), ("counters", "accepted"),
    ("task:par", "state"), ("task:par", "lane"), ("task:end", "state"), ("task:end", "finished"), ("task:end", "turn"),
    ("task:deb", "state"), ("task:deb", "lane"), ("task:deb", "delivery"), ("task:deb", "seq"),
    *((f"task:{name}", field) for name in ("plain-failed", "two-turns", "waits") for field in (
        "turn", "lane", "message", "digest", "root", "retry", "retried_as", "retry_of", "max_attempts", "seq", "state",
        "if_parent_fails", "batch", "amended", "bulk_change", "attempts", "timeout")),
)  # fmt: skip


async def build(space: Namespace) -> None:
    await space.register("w")
    await space.submit("par", delay_ms=FAR_MS)
    await space.submit("end", "plain-failed", "two-turns", max_attempts=1)
    await with_options(space, "deb", SubmitOptions(debounce="d"), delay_ms=FAR_MS)
    await with_options(space, "first-of-batch", SubmitOptions(batch=BatchPlace("b", 1, 4, "d1")), delay_ms=FAR_MS)
    await with_options(space, "of-batch-failed", SubmitOptions(batch=BatchPlace("b", 4, 4, "d1")))
    taken = {delivery.task_id: delivery for delivery in await space.take("w")}
    await space.settle("w", taken["end"], Settle.COMPLETED)
    await space.settle("w", taken["two-turns"], Settle.INPUT_REQUIRED)
    await space.settle("w", taken["plain-failed"], Settle.EXHAUSTED)
    await space.settle("w", taken["of-batch-failed"], Settle.FAILED)
    await with_options(space, "child-failed", SubmitOptions(after=("end",)))
    await space.message("two-turns", "m2")
    for delivery in await space.take("w"):
        await space.settle("w", delivery, Settle.FAILED)
    await space.submit("waits", delay_ms=FAR_MS)


async def with_options(space: Namespace, task_id: str, options: SubmitOptions, **more: int) -> None:
    one = submission(task_id, space.queue, options=options, **more)
    assert [each.accepted for each in await space.store.submit_with_options([one])] == [Accepted.NEW]


@dataclass(slots=True)
class Damage:
    """One key that holds something else, or one field of it with another value; `mend` puts back what was there."""

    space: Namespace
    key: str
    field: str = ""
    how: str = ""
    before: bytes | None = None

    async def do(self) -> None:
        if self.field:
            self.before = await self.space.do("HGET", self.key, self.field)
            if self.how == MISSING:
                await self.space.do("HDEL", self.key, self.field)
            else:
                await self.space.do("HSET", self.key, self.field, TEXTS[self.how])
            return
        kind = await self.space.do("TYPE", self.key)
        if kind != b"none":
            await self.space.do("RENAME", self.key, f"saved:{self.key}")
        await self.space.do(*(("SET", self.key, "x") if kind != b"string" else ("RPUSH", self.key, "x")))

    async def mend(self) -> None:
        """What was healed meanwhile stays."""
        if self.field:
            found = (await self.space.do("HGET", self.key, self.field) or b"").decode()
            if found != TEXTS.get(self.how, "") and len(found) < len(TEXTS["huge"]):
                return
            if self.before is None:
                await self.space.do("HDEL", self.key, self.field)
            else:
                await self.space.do("HSET", self.key, self.field, self.before)
            return
        kind = await self.space.do("TYPE", self.key)
        if (kind == b"string" and await self.space.do("GET", self.key) == b"x") or kind == b"list":
            await self.space.do("DEL", self.key)
        if ":" not in self.key.partition("}:")[2] and await self.space.do("EXISTS", self.key):
            await self.space.do("DEL", f"saved:{self.key}")
            await RedisSteward(self.space.store.connection).mend()
        if await self.space.do("EXISTS", f"saved:{self.key}"):
            await self.space.do("RENAME", f"saved:{self.key}", self.key)


Op = Callable[[Namespace], Awaitable[str]]


def submits(one: Submission) -> Op:
    async def submit(space: Namespace) -> str:
        if one.options:
            [receipt] = await space.store.submit_with_options([one])
            return str(receipt.accepted)
        return str((await space.store.submit([one]))[0])

    return submit


def operations(queue: str) -> dict[str, Op]:
    """By the id of the task that each makes."""
    made = {
        "plain": submission("plain", queue),
        "delayed": submission("delayed", queue, delay_ms=300),
        "keyed": submission("keyed", queue, concurrency_key="k"),
        **{name: submission(name, queue, options=options) for name, options in OPTIONS.items()},
    }
    return {name: submits(one) for name, one in made.items()}


async def tried(space: Namespace, operation: Op) -> str:
    try:
        return await operation(space)
    except StoreError as error:
        return f"error: {error}"


async def require_unwritten_or_whole(space: Namespace, task_id: str, word: str, context: str) -> bool:
    """True if it was accepted."""
    there = await space.do("TYPE", space.key(f"task:{task_id}"))
    if word in {Accepted.NEW, Accepted.DUPLICATE}:
        assert there == b"hash", f"{context}: {task_id} is {word}, and has no record"
        return True
    assert there != b"hash", f"{context}: {task_id} is refused ({word}), and has a record"
    return False


async def all_run(space: Namespace, lanes: list[str]) -> None:
    for _ in range(8):
        await space.store.promote(100)
        for delivery in (await space.pull("w", 20, lanes=lanes)).deliveries:
            await space.settle("w", delivery, Settle.COMPLETED)
        await space.clock.advance(500)


async def retried(space: Namespace, task_id: str) -> str:
    try:
        answer = await space.store.retry(task_id, "again")
    except StoreError as error:
        return f"error: {error}"
    return f"{answer.word} {answer.task_id}"


async def hold(space: Namespace, damage: Damage) -> None:
    """Whatever is damaged, each submission and each retry is refused or whole, before and after it is mended."""
    context = f"{damage.key} {damage.field} {damage.how}"
    made = operations(space.queue)
    await damage.do()
    for task_id, operation in made.items():
        for _ in range(2):
            word = await tried(space, operation)
            await require_unwritten_or_whole(space, task_id, word, context)
    for task_id in RETRIED:
        words = [await retried(space, task_id) for _ in range(2)]
        await require_no_orphan(space, task_id, words, context)
    others = await space.store.submit([submission("other", CALM)]) if is_of_one(damage) else []
    assert others in ([], [Accepted.NEW])
    await damage.mend()
    for task_id, operation in made.items():
        word = await tried(space, operation)
        assert await require_unwritten_or_whole(space, task_id, word, context), f"{context}: {task_id} {word}"
    for task_id in RETRIED:
        word = await retried(space, task_id)
        assert word.partition(" ")[0] in {"new", "again", "due", "submitted"}, f"{context}: {task_id}: {word}"
    await require_indexed(space, context, made)
    await space.clock.advance(FAR_MS)
    await all_run(space, [space.queue, CALM])
    states = {task_id: await space.do("HGET", space.key(f"task:{task_id}"), "state") for task_id in made}
    wrong = {name: state for name, state in states.items() if state != b"completed"}
    assert not wrong, f"{context}: {wrong}"


def is_of_one(damage: Damage) -> bool:
    """True if the damage is not that of the whole queue."""
    return ":" in damage.key.partition("}:")[2] and not any(name in damage.key for name in ("control:steward", "seq"))


async def require_no_orphan(space: Namespace, task_id: str, words: list[str], context: str) -> None:
    """Of a retry that was refused nothing is left; of one that was made there is one, and it stands in its lane."""
    known = await space.do("KEYS", f"*{space.queue}*:task:{task_id}.r*")
    hashes = [key for key in known if await space.do("TYPE", key) == b"hash"]
    made = {word.partition(" ")[2] for word in words if word.partition(" ")[0] in {"new", "again"}}
    named = {key.decode().rpartition(":")[2] for key in hashes}
    assert named <= made, f"{context}: {task_id}: {words}, there are {named}"


async def require_indexed(space: Namespace, context: str, made: dict[str, Op]) -> None:
    found = breaches(await space.store.snapshot(), space.queue)
    mine = [line for line in found if line[:2] in {"I3", "I4"} and any(f" {name} " in line for name in made)]
    assert not mine, f"{context}: {mine}"


async def test_where_nothing_is_damaged_all_of_them_run(space: Namespace) -> None:
    await build(space)
    await hold(space, Damage(space, space.key("nothing")))
    await space.check()


async def test_its_producer_is_told_what_is_damaged(space: Namespace) -> None:
    await build(space)
    await Damage(space, space.key("children:par")).do()
    manager = TaskManager(space.store, queue=space.queue, retries=SubmitRetries())
    with pytest.raises(StoreRefusedError, match=r"is not accepted, .* .*children:par is no sorted set; .*mend, rename"):
        await manager.run_task("x", task_id="child", after=["par"])
    await space.do("HDEL", space.key("task:plain-failed"), "turn")
    with pytest.raises(UnreadableRecordError, match=r"'plain-failed' cannot be read: it has no field turn"):
        await space.store.retry("plain-failed", "again")


async def keys(space: Namespace, pattern: str) -> list[str]:
    if not pattern.endswith("*"):
        return [space.key(pattern)]
    beginning = space.key(pattern[:-1])
    found = [key.decode() for key in await space.do("KEYS", "*") if key.decode().startswith(beginning)]
    return sorted(found) or [f"{beginning}{space.queue}"]


async def damage_key(space: Namespace, pattern: str) -> None:
    await build(space)
    for key in await keys(space, pattern):
        await hold(space, Damage(space, key))


async def damage_field(space: Namespace, key: str, field: str, how: str) -> None:
    await build(space)
    await hold(space, Damage(space, space.key(key), space.queue if field == "QUEUE" else field, how))


@pytest.mark.parametrize("pattern", KEYS)
async def test_a_key_beside_it_that_holds_something_else(server_url: str, pattern: str) -> None:
    async with namespace(server_url) as space:
        await damage_key(space, pattern)


@pytest.mark.parametrize(("place", "how"), combined(FIELDS, ["a word", "negative", "huge", MISSING]))
async def test_a_field_beside_it_that_is_damaged(server_url: str, place: tuple[str, str], how: str) -> None:
    key, field = place
    async with namespace(server_url) as space:
        await damage_field(space, key, field, how)
