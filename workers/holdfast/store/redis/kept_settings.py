"""Facts: what a ledger keeps besides tasks. Schedules, and what is said of lanes and hosts, by name: `schedule|<id>`,
`rules|`, `quiet|`, `webhook|`. What they hold is read and put back here, and changed on request of a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.store.redis.connection import Value
from holdfast.store.redis.ledger import ELSEWHERE, RedisLedger

OVERTAKEN = b"overtaken"  # carried out long ago, and later requests on the same fact since


@dataclass(frozen=True, slots=True)
class KeptSetting:
    """`content` as names and values in turn: the last one, where it was `removed`."""

    name: str
    content: tuple[bytes, ...]
    removed: bool


class RedisKeptSettings(RedisLedger):
    """Redis, as its ledger sees it."""

    async def facts(self, epoch: str, witness: str, names: Sequence[str]) -> tuple[str, list[KeptSetting]] | None:
        """The last event of all, and these facts; None where this Redis is not what the ledger follows, any more."""
        answer = await self._run("facts", epoch, witness, *names)
        if answer == ELSEWHERE:
            return None
        last, contents = answer
        return last.decode(), [
            KeptSetting(name, tuple(some), not some) for name, some in zip(names, contents, strict=True)
        ]

    async def restore_facts(self, epoch: str, facts: Sequence[KeptSetting], *, set_back: bool) -> None:
        """Put these back into a Redis that is rebuilt: `set_back` to an earlier moment, or emptied."""
        args: list[Value] = [epoch, int(set_back)]
        for fact in facts:
            args += (fact.name, int(fact.removed), len(fact.content), *fact.content)
        await self._run("restore_facts", *args)

    async def request(self, epoch: str, fact: str, number: int, operation: str, args: Sequence[Value]) -> Any:
        """What the operation answers; ELSEWHERE as above, and nothing was done. A request is carried out once: later
        its answer comes again, or OVERTAKEN where that is forgotten."""
        return await self._run_behind("requested", operation, *args, fact, number, epoch)

    async def known_schedules(self, cursor: str, page: int) -> tuple[str, list[str]]:
        """Some of the ids that there are, and where to go on ('' at the end)."""
        following, flat = await self._command("ZSCAN", self._keys.schedules, cursor or "0", "COUNT", page)
        return "" if following == b"0" else following.decode(), [name.decode() for name in flat[::2]]
