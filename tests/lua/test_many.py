"""No script gives a call more values than Lua can unpack at once: some 8,000."""

from __future__ import annotations

import re

import pytest

from holdfast.store.redis import scripts
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio

MANY = 9_000
# Of so many values as the text of a script says, and no more; the parts for usual calls answer none larger than MOST.
BOUNDED = {"FACTS", "facts",
    "ARGV", "ARGV, 6", "ARGV, i, i + 3", "ARGV, i, i + WIDTH - 1", "ARGV, i + 1, i + words",
    "fact.pairs", "fields", "fire", "lines", "one", "option", "order",
    "read(id, 'lane', 'solo')", "seen_twice[i]", "submission",
    "ids, i, math.min(i + AT_ONCE - 1, #ids)", "ids, before + 1, before + lane.taken",
    "ARGV, (n - 1) * WIDTH + 1, n * WIDTH", "entries", "finished", "ids", "index", "keys", "rest", "running",
    "t.parents, i, i + 5", "t.webhooks, i, i + 4", "options", "values, from, math.min(from + PAGE - 1, #values)",
}  # fmt: skip


async def test_a_worker_of_many_lanes_is_served(space: Namespace) -> None:
    lanes = [f"lane{number}" for number in range(MANY)]
    await space.register("a")
    await space.submit("t1", lane=lanes[0])
    await space.submit("t2", lane=lanes[-1])
    assert (await space.store.renew("a", "live", 0, [], lanes)).waiting == 2
    pulled = await space.pull("a", 2, lanes=lanes, weights=[1] * MANY)
    assert {delivery.task_id for delivery in pulled.deliveries} == {"t1", "t2"}
    await space.submit("t3", lane=lanes[-1])
    pulled = await space.pull("a", 2, lanes=lanes)
    assert [delivery.task_id for delivery in pulled.deliveries] == ["t3"]


async def test_many_workers_are_vouched_for(space: Namespace) -> None:
    workers = [f"w{number}" for number in range(MANY)]
    await space.do("ZADD", space.key("workers"), *(word for name in workers for word in (1, name)))
    await space.store.vouch(workers)
    assert await space.do("ZCOUNT", space.key("workers"), "-inf", 1) == 0


async def test_a_queue_of_many_lanes_is_obliterated(space: Namespace) -> None:
    await space.submit("t1", lane="slow")
    await space.do("HSET", space.key("seq"), *(word for number in range(MANY) for word in (f"lane{number}", 1)))
    cursor = "0"
    for _ in range(100):
        cursor = (await space.store.obliterate(cursor, 1_000, force=False)).cursor
        if not cursor or cursor == "0":
            break
    assert await space.do("EXISTS", space.key("lane:slow")) == 0


def test_no_script_unpacks_what_nothing_bounds() -> None:
    found = set[str]()
    for name in (*scripts.operations(), *scripts.shared_parts()):
        text = re.sub(r"--.*", "", scripts.text(name))
        found |= {_argument(text, at.end()) for at in re.finditer(r"(?<!cmsgpack\.)\bunpack\(", text)}
    assert found <= BOUNDED


def _argument(text: str, start: int) -> str:
    """The text between this place, behind a bracket, and the bracket that closes it."""
    depth = 1
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return text[start:end]
    return text[start:]
