"""Who of this parent's workers lives, and whose death is still to be recorded, as the parent told it."""

from __future__ import annotations

from collections import OrderedDict

import anyio

from holdfast.ipc.channel import Born, Died


class WorkerRoster:
    """Deaths keep the order in which they were told; one told again while it waits is the same death."""

    def __init__(self) -> None:
        self._living: dict[str, None] = {}
        self._dead: OrderedDict[str, Died] = OrderedDict()
        self._changed = anyio.Event()

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(self._living)

    def knows(self, incarnation: str) -> bool:
        """Whether the parent speaks for it: alive, or dead and about to be recovered."""
        return incarnation in self._living or incarnation in self._dead

    def born(self, birth: Born) -> None:
        self._living[birth.incarnation] = None
        self._announce()

    def died(self, death: Died) -> None:
        self._living.pop(death.incarnation, None)
        self._dead.setdefault(death.incarnation, death)
        self._announce()

    def first_dead(self) -> Died | None:
        return next(iter(self._dead.values()), None)

    def bury(self, incarnation: str) -> None:
        """This death is recorded."""
        del self._dead[incarnation]
        self._announce()

    def defer(self, incarnation: str) -> None:
        """Let the other deaths be recorded before this one."""
        self._dead.move_to_end(incarnation)

    async def news(self, within: float) -> None:
        """Wait for the next change, at most so many seconds."""
        with anyio.move_on_after(within):
            await self._changed.wait()

    async def mourned(self) -> None:
        """Wait until no death is left to be recorded."""
        while self._dead:
            await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
