"""Wakes callers that wait for a task: Redis publishes a notice on the task's channel when a turn settles.

All callers of one process share one subscription: a thousand of them take one connection. One of the callers reads the
connection for all. When it leaves, another caller goes on reading. So no asyncio task runs in the background. If the
connection breaks, each caller gets the error, looks at its tasks and subscribes again.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import anyio

from holdfast.errors import StoreError
from holdfast.store.redis.error_mapping import Explained

_SINGLY = 32  # the most tasks that a caller awaits on their own channels; for more it gets the notices of all tasks
PART = b"part"  # the notice that a running task has emitted parts; others name the state of a settled one
_SPECIAL = re.compile(r"([*?\[\]\\])")


class Waiter:
    """One waiting caller. `names`: the channels, or the pattern, to subscribe to; `unconfirmed`: those that the server
    has not confirmed yet. `notices`: the notices that the caller has not taken yet. `heeds_parts`: the caller also
    wants notices of emitted parts."""

    def __init__(self, channels: frozenset[str], names: frozenset[str], *, heeds_parts: bool = False) -> None:
        self.channels = channels
        self.names = names
        self.heeds_parts = heeds_parts
        self.unconfirmed = set(names)
        self.notices = deque[str]()
        self.error: StoreError | None = None

    def confirm(self, name: str) -> None:
        """Record that the server has confirmed one of the caller's names. After the last name, the caller gets the
        notice '': the subscription is complete."""
        if name in self.unconfirmed:
            self.unconfirmed.discard(name)
            if not self.unconfirmed:
                self.notices.append("")

    def notify(self, task_id: str, word: bytes) -> None:
        """Keep this notice for the caller, unless the same notice still waits. A notice only tells the caller to look
        at the task again, so one is enough."""
        if (word != PART or self.heeds_parts) and not (self.notices and self.notices[-1] == task_id):
            self.notices.append(task_id)

    @property
    def is_served(self) -> bool:
        return bool(self.notices) or self.error is not None


class Notifications:
    """The subscription of one process. `client`: the client for calls that block. `prefix`: the beginning of the names
    of tasks' channels. `_waiters`: the waiting callers, by each channel and pattern that they need."""

    def __init__(self, client: Any, prefix: str, explained: Explained) -> None:
        self._client = client
        self._prefix = prefix
        self._explained = explained
        self._waiters: dict[str, dict[Waiter, None]] = {}
        self._changing = anyio.Lock()
        self._channel: Any = None
        self._asked = set[str]()  # names that a subscription was sent for
        self._standing = set[str]()  # those of them that the server has confirmed
        self._asleep: dict[Waiter, anyio.Event] = {}
        self._is_read = False

    def settled(self, task_ids: Sequence[str]) -> AsyncGenerator[str]:
        """Yield '' when the subscription is complete, then the ids of these tasks as their turns settle. Raises
        StoreUnavailableError when the connection is lost."""
        return self._notices(self._waiter(task_ids))

    def emitted(self, task_id: str) -> AsyncGenerator[str]:
        """Like `settled`, for one task; also yields the task's id when the task has emitted new parts."""
        channel = frozenset([self._prefix + task_id])
        return self._notices(Waiter(channel, channel, heeds_parts=True))

    async def _notices(self, waiter: Waiter) -> AsyncGenerator[str]:
        self._enter(waiter)
        try:
            await self._subscribe(waiter)
            while True:
                yield await self._next(waiter)
        finally:
            self._leave(waiter)
            if not self._waiters:
                with anyio.CancelScope(shield=True):
                    await self._forget()

    def _waiter(self, task_ids: Sequence[str]) -> Waiter:
        channels = frozenset(self._prefix + task_id for task_id in task_ids)
        everything = _SPECIAL.sub(r"\\\1", self._prefix) + "*"
        return Waiter(channels, channels if len(channels) <= _SINGLY else frozenset([everything]))

    def _enter(self, waiter: Waiter) -> None:
        for name in waiter.channels | waiter.names:
            self._waiters.setdefault(name, {})[waiter] = None

    def _leave(self, waiter: Waiter) -> None:
        for name in waiter.channels | waiter.names:
            self._waiters[name].pop(waiter, None)
            if not self._waiters[name]:
                del self._waiters[name]

    async def _forget(self) -> None:
        channel, self._channel = self._channel, None
        self._asked.clear()
        self._standing.clear()
        if channel is not None:
            await channel.aclose()

    async def _subscribe(self, waiter: Waiter) -> None:
        async with self._changing:
            if self._channel is None:
                self._channel = self._client.pubsub()
            await self._send(self._channel, waiter)
        for name in waiter.names & self._standing:
            waiter.confirm(name)

    async def _send(self, channel: Any, waiter: Waiter) -> None:
        new = sorted(waiter.names - self._asked)
        subscribe = channel.subscribe if waiter.names == waiter.channels else channel.psubscribe
        self._asked.update(new)
        try:
            with self._explained:
                await self._unsubscribe()
                if new:
                    await subscribe(*new)
        except StoreError as error:
            await self._break(channel, error)
        except BaseException:  # cancelled: sent or not
            self._asked.difference_update(new)
            raise

    async def _unsubscribe(self) -> None:
        """Unsubscribe from channels that no caller needs any more, once they outnumber the channels in use."""
        unused = self._asked - self._waiters.keys()
        if len(unused) > _SINGLY + len(self._waiters):
            self._asked -= unused
            self._standing -= unused
            channels = sorted(name for name in unused if not name.endswith("*"))
            await self._channel.unsubscribe(*channels)

    async def _next(self, waiter: Waiter) -> str:
        while not waiter.is_served:
            await (self._sleep(waiter) if self._is_read else self._read_for_all(waiter))
        if waiter.notices:
            return waiter.notices.popleft()
        assert waiter.error is not None
        raise type(waiter.error)(*waiter.error.args) from waiter.error

    async def _sleep(self, waiter: Waiter) -> None:
        """Wait until this caller has a notice, or until no caller reads the connection any more. Another caller reads
        it now and passes notices on."""
        self._asleep[waiter] = anyio.Event()
        try:
            await self._asleep[waiter].wait()
        finally:
            del self._asleep[waiter]
            if not self._is_read:
                self._wake_another()

    async def _read_for_all(self, waiter: Waiter) -> None:
        self._is_read = True
        try:
            while not waiter.is_served:
                await self._read()
        finally:
            self._is_read = False
            self._wake_another()

    def _wake_another(self) -> None:
        """Wake another waiting caller, which then reads the connection for all."""
        for asleep in self._asleep.values():
            return asleep.set()
        return None

    def _wake(self, waiter: Waiter) -> None:
        if waiter.is_served and waiter in self._asleep:
            self._asleep[waiter].set()

    async def _read(self) -> None:
        channel = self._channel
        try:
            with self._explained:
                notice = await channel.get_message(timeout=None)
        except StoreError as error:
            await self._break(channel, error)
            return
        match notice:
            case {"type": "subscribe" | "psubscribe", "channel": name}:
                self._confirm(name.decode())
            case {"type": "message" | "pmessage", "channel": name, "data": word}:
                self._tell(name.decode(), word)
            case _:
                pass

    def _confirm(self, name: str) -> None:
        if name not in self._asked:
            return
        self._standing.add(name)
        for waiter in self._waiters.get(name, ()):
            waiter.confirm(name)
            self._wake(waiter)

    def _tell(self, name: str, word: bytes) -> None:
        for waiter in self._waiters.get(name, ()):
            waiter.notify(name.removeprefix(self._prefix), word)
            self._wake(waiter)

    async def _break(self, channel: Any, error: StoreError) -> None:
        """Give the error to every caller, because the connection has failed."""
        if channel is not self._channel:
            return
        for waiter in {waiter for waiters in self._waiters.values() for waiter in waiters}:
            waiter.error = error
            self._wake(waiter)
        await self._forget()
