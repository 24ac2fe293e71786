"""The blocking wait: on this worker's own hints always, on the lanes' bells while it can take work.

What is popped here is worth nothing: a lost bell costs a poll, a lost hint a renewal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from holdfast.core.delivery import Hint
from holdfast.os.kill_points import Point, reached
from holdfast.worker.context import WorkerContext
from holdfast.worker.pull import Puller

APPETITE = 0.002  # seconds for which slots stay free before bells are listened to: a busy worker asks by itself


@dataclass(slots=True)
class HintListener:
    """`stop(task id, claim, why)` ends a handler; `poll_timeout` is how long to wait for a bell, in seconds."""

    post: WorkerContext
    claims: Puller
    stop: Callable[[str, str, str], None]
    poll_timeout: Callable[[], float]
    _deaf: bool = False  # waits for hints alone
    _hungry: anyio.Event = field(default_factory=anyio.Event)
    _free: anyio.Event = field(default_factory=anyio.Event)

    async def serve(self) -> None:
        while True:
            self._deaf = False
            await self._have_patience()
            self._deaf = not self.claims.hungry
            hint = await self.post.insist.call("listen", self._wait)
            await self._heed(hint)

    def answered(self) -> None:
        """An answer came: if slots are free again, the wait for hints alone has to end."""
        if self.claims.hungry:
            self._free.set()
            if self._deaf:
                self._hungry.set()

    async def _have_patience(self) -> None:
        """What ends at once is settled at once: that spares a wait for hints alone, which would have to be ended."""
        if not self.claims.hungry:
            self._free = anyio.Event()
            with anyio.move_on_after(APPETITE):
                await self._free.wait()

    async def wake(self) -> None:
        """End a wait for hints alone as soon as there is an appetite for work; for ever."""
        while True:
            await self._hungry.wait()
            await anyio.sleep(APPETITE)
            self._hungry = anyio.Event()
            if self._deaf and self.claims.hungry:
                await self.post.insist.call("wake", lambda: self.post.store.wake(self.post.incarnation))

    async def _wait(self) -> Hint | None:
        spec = self.post.spec
        lanes = () if self._deaf or spec.quarantine else spec.settings.lane_names  # no bell is rung for a suspect
        return await self.post.store.listen(self.post.incarnation, lanes, self.poll_timeout())

    async def _heed(self, hint: Hint | None) -> None:
        match hint:
            case Hint("cancel" | "pause" as why, task_id, claim):
                self.stop(task_id, claim, why)
            case Hint("look"):
                await self.claims.ask_now()
            case Hint("bell"):
                reached(Point.BELL)
                # Even a worker that has become full asks: the store then rings on for the others.
                await self.claims.ask_now()
            case None if not self._deaf or self.claims.apart:
                await self.claims.ask_now()
            case _:
                pass
