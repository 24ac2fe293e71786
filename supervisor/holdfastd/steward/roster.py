"""WorkerRoster lists this parent's living workers, those of them that are silent, and the deaths that are still to be
recorded in the store."""

from __future__ import annotations

from collections import OrderedDict

import anyio

from holdfast.ipc.channel import Born, Died, Silent


class WorkerRoster:
    """Deaths keep the order in which they were reported; duplicate reports are ignored."""

    def __init__(self) -> None:
        self._living: dict[str, None] = {}
        self._silent: dict[str, None] = {}
        self._dead: OrderedDict[str, Died] = OrderedDict()
        self._changed = anyio.Event()

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(self._living)

    def knows(self, incarnation: str) -> bool:
        """True if the parent has reported this worker: alive, or dead and about to be recovered."""
        return incarnation in self._living or incarnation in self._dead

    def worker_started(self, message: Born) -> None:
        self._living[message.incarnation] = None
        self._announce()

    def worker_silent(self, message: Silent) -> None:
        if message.incarnation in self._living:
            self._silent[message.incarnation] = None
            self._announce()

    def take_silent(self) -> tuple[str, ...]:
        """The living workers that were reported to be silent since the last call."""
        silent, self._silent = tuple(name for name in self._silent if name in self._living), {}
        return silent

    def worker_died(self, death: Died) -> None:
        self._living.pop(death.incarnation, None)
        self._dead.setdefault(death.incarnation, death)
        self._announce()

    def worker_lost(self, incarnation: str) -> None:
        """This worker is dead and recovered, though the parent has not reported it: nobody vouches for it any more."""
        self._living.pop(incarnation, None)
        self._announce()

    def first_dead(self) -> Died | None:
        return next(iter(self._dead.values()), None)

    def remove(self, incarnation: str) -> None:
        """Remove a death that is recorded."""
        del self._dead[incarnation]
        self._announce()

    def defer(self, incarnation: str) -> None:
        """Move this death behind the others."""
        self._dead.move_to_end(incarnation)

    async def wait_for_change(self, within: float) -> None:
        """Wait for the next change, at most `within` seconds."""
        with anyio.move_on_after(within):
            await self._changed.wait()

    async def all_recorded(self) -> None:
        """Wait until no death is left to be recorded."""
        while self._dead:
            await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
