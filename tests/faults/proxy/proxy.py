"""The proxy: a unix socket in, the server's out, an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream, TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.faults.proxy.gate import Gate
from tests.faults.proxy.link import Link
from tests.faults.proxy.resp import GONE, Request, values
from tests.faults.proxy.rules import Action, Rule


class Proxy:
    """Clients connect to `url`. While the block lasts, rules may be made and the whole host cut off.

    `server`: the socket of the server, or its host and port."""

    _host: Gate
    _portal: BlockingPortal

    def __init__(self, path: Path, server: Path | tuple[str, int]) -> None:
        self.url = f"unix://{path}"
        self._path, self._server = path, server
        self._rules: list[Rule] = []
        self._stack = ExitStack()

    def __enter__(self) -> Proxy:
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._host = self._stack.enter_context(self._portal.wrap_async_context_manager(self._serving()))
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()
        self._stack.close()

    def on(self, name: str, action: Action, nth: int = 1, times: int = 1, about: str = "") -> Rule:
        """From now on the `nth` request of this name (that holds this text), and `times` in all, meet this."""
        return self.add(Rule(name, action, nth, times, about.encode()))

    def add(self, rule: Rule) -> Rule:
        self._rules.append(rule)
        return rule

    def drop(self, rule: Rule) -> None:
        """It holds no more; what it held goes on."""
        self._rules.remove(rule)
        rule.release()

    def cut_off(self) -> None:
        """A black hole for every connection there is and will be, until `heal`."""
        self._portal.call(self._host.shut)

    def heal(self) -> None:
        self._host.open()

    def clear(self) -> None:
        """No rule holds any more; what they held goes on."""
        rules, self._rules = self._rules, []
        for rule in rules:
            rule.release()
        self.heal()

    @asynccontextmanager
    async def _serving(self) -> AsyncGenerator[Gate]:
        host = Gate()
        asyncio.get_running_loop().set_exception_handler(_note)
        async with await anyio.create_unix_listener(self._path) as listener, anyio.create_task_group() as group:

            async def serve(near: SocketStream) -> None:
                await self._serve(near, host, group)

            group.start_soon(listener.serve, serve)
            yield host
            group.cancel_scope.cancel()

    async def _serve(self, near: SocketStream, host: Gate, late: TaskGroup) -> None:
        async with near:
            try:
                far = await self._connect()
            except OSError:
                return  # the server is gone
            async with far:
                await Link(near, far, host, self._find, self._deliver, late).serve()

    async def _connect(self) -> SocketStream:
        if isinstance(self._server, Path):
            return await anyio.connect_unix(self._server)
        return await anyio.connect_tcp(*self._server)

    def _find(self, request: Request) -> Rule | None:
        met = [rule for rule in self._rules if rule.meets(request)]
        return met[0] if met else None

    async def _deliver(self, raw: bytes) -> bytes:
        """Empty where the server is gone."""
        with suppress(*GONE):
            async with await self._connect() as way:
                await way.send(raw)
                return await anext(values(way), b"")
        return b""


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """anyio has a unix socket's readiness set a future that was cancelled in the same round: nothing is lost by it."""
    if not isinstance(context.get("exception"), asyncio.InvalidStateError):
        loop.default_exception_handler(context)
