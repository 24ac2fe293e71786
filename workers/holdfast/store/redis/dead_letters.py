"""What was given up or left lying: dead letters, entries that nobody could read, tasks whose owners are gone."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.tasks import MAX_CRASHES, Page, RetryAnswer, Stray, Strays, UnreadableEntry
from holdfast.store.redis import decode
from holdfast.store.redis.connection import DAMAGED, Role
from holdfast.store.redis.pages import read_position, readable

_PAGE = 50  # entries of up to 64 KiB looked through at once


class RedisDeadLetters(Role):
    async def retry(self, task_id: str, reason: str) -> RetryAnswer:
        """The conversation of a task of many turns is copied in several steps."""
        word, new = await self._run("retry", task_id, reason)
        while word == b"more":
            word, new = await self._run("retry", task_id, reason)
        if word == DAMAGED.encode():
            await self._connection.refuse_damaged(task_id)
        return RetryAnswer(word.decode(), new.decode())

    async def dead_letters(self, limit: int, cursor: str = "", before_ms: int | None = None) -> Page:
        """By rank, newest first: while letters come and go a page may repeat or miss one."""
        start = read_position(cursor)
        newest = "+inf" if before_ms is None else before_ms
        span = (newest, "-inf", "BYSCORE", "REV", "LIMIT", start, limit)
        ids: list[bytes] = await self._command("ZRANGE", self._keys.dead, *span)
        answers = [(task_id, await self._run("show", task_id, 0)) for task_id in ids]
        tasks, unreadable = readable((task_id, answer) for task_id, answer in answers if answer)
        return Page(tasks, str(start + limit) if len(ids) == limit else "", unreadable)

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        return await self._number("purge_dead", *task_ids)

    async def unreadable(self, limit: int) -> list[UnreadableEntry]:
        items = await self._command("LRANGE", self._keys.unreadable, -limit, -1)
        return [decode.unreadable(item) for item in reversed(items)]

    async def unreadable_at(self, address: str) -> UnreadableEntry | None:
        item = await self._find(address)
        return None if item is None else decode.unreadable(item)

    async def readmit(self, address: str) -> str:
        item = await self._find(address)
        return "gone" if item is None else await self._word("readmit", item)

    async def forget_unreadable(self, address: str) -> bool:
        item = await self._find(address)
        return item is not None and await self._command("LREM", self._keys.unreadable, 1, item) == 1

    async def purge_unreadable(self, until_ms: int, limit: int) -> int:
        return await self._number("purge_unreadable", until_ms, limit)

    async def strays(
        self, cursor: str, page: int, silence_ms: int, *, put_back: bool, max_crashes: int = MAX_CRASHES
    ) -> Strays:
        following, *found = await self._run("strays", cursor or "0", page, silence_ms, int(put_back), max_crashes)
        words = [word.decode() for word in found]
        strays = tuple(Stray(*words[start : start + 3]) for start in range(0, len(words), 3))
        return Strays(strays, "" if following == b"0" else following.decode())

    async def _find(self, address: str) -> bytes | None:
        """The entry as it is kept. While others are taken out one may be passed over: then it is looked for again."""
        at, start = f"{address.partition('-')[0]}|".encode(), 0
        while items := await self._command("LRANGE", self._keys.unreadable, start, start + _PAGE - 1):
            for item in items:
                if item.startswith(at) and decode.unreadable(item).address == address:
                    found: bytes = item
                    return found
            start += _PAGE
        return None
