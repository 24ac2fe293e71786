"""One client's connection through the proxy: requests up, answers down in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketStream, TaskGroup

from tests.faults.proxy.gate import Gate
from tests.faults.proxy.resp import GONE, Request, values
from tests.faults.proxy.rules import Action, Rule

Met = tuple[Request, Rule]


@dataclass(slots=True)
class Link:
    """`deliver` sends a request by a way of its own and gives the answer; `late` runs what outlives the connection."""

    near: SocketStream
    far: SocketStream
    host: Gate
    find: Callable[[Request], Rule | None]
    deliver: Callable[[bytes], Awaitable[bytes]]
    late: TaskGroup
    _own: Gate = field(default_factory=Gate)
    _due: deque[Met | None] = field(default_factory=deque[Met | None])  # one for each answer to come

    async def serve(self) -> None:
        """Until either side is gone, or a fault ends it."""
        async with anyio.create_task_group() as group:
            for pump in (self._up, self._down):
                group.start_soon(self._last, pump, group)

    async def _last(self, pump: Callable[[], Awaitable[None]], group: TaskGroup) -> None:
        with suppress(*GONE):
            await pump()
        await self._passage()  # in a black hole not even an end is heard of
        group.cancel_scope.cancel()

    async def _passage(self) -> None:
        await self.host.passed()
        await self._own.passed()

    async def _up(self) -> None:
        async for raw in values(self.near):
            await self._passage()
            request = Request.of(raw, behind=bool(self._due))
            rule = self.find(request)
            if rule is None:
                self._due.append(None)
                await self.far.send(raw)
            else:
                await self._pass_up(request, rule)

    async def _pass_up(self, request: Request, rule: Rule) -> None:
        match rule.action:
            case Action.DROP:
                rule.strike()
            case Action.HOLD:
                self.late.start_soon(self._deliver_late, request, rule)
            case Action.BLACK_HOLE:
                self._own.shut()
                rule.holds(self._own.open)
                rule.strike()
                await self._passage()
                await self._forward(request, rule)
            case Action.HALF_CLOSE_UP:
                await self._forward(request, rule)
                await self.far.send_eof()
                rule.strike()
            case _:
                await self._forward(request, rule)

    async def _forward(self, request: Request, rule: Rule) -> None:
        self._due.append((request, rule))
        await self.far.send(request.raw)

    async def _down(self) -> None:
        async for raw in values(self.far):
            await self._passage()
            met = self._due.popleft() if self._due else None
            if met is None:
                await self.near.send(raw)
            elif await self._pass_down(raw, *met):
                return

    async def _pass_down(self, raw: bytes, request: Request, rule: Rule) -> bool:
        """True if this was the last answer of the connection."""
        match rule.action:
            case Action.CUT | Action.TRUNCATE:
                if rule.action is Action.TRUNCATE:
                    await self.near.send(raw[: len(raw) // 2])
                rule.tell_answer(raw)
                rule.strike()
                return True
            case Action.HALF_CLOSE_DOWN:
                await self.near.send_eof()
                rule.tell_answer(raw)
                rule.strike()
                return False
            case Action.DELAY:
                rule.tell_answer(raw)
                await self._hold(rule)
            case Action.DUPLICATE:
                self.late.start_soon(self._deliver_again, request, rule)
            case Action.WATCH:
                rule.strike()
            case _:
                pass
        await self.near.send(raw)
        return False

    async def _deliver_late(self, request: Request, rule: Rule) -> None:
        await self._hold(rule)
        answer = await self.deliver(request.raw)
        rule.tell_answer(answer)
        with suppress(*GONE):
            await self.near.send(answer)

    async def _hold(self, rule: Rule) -> None:
        gate = Gate()
        gate.shut()
        rule.holds(gate.open)
        rule.strike()
        await gate.passed()

    async def _deliver_again(self, request: Request, rule: Rule) -> None:
        rule.strike()
        rule.tell_answer(await self.deliver(request.raw))
