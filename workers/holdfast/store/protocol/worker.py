"""The port of one worker process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.core.delivery import Hint, Holding, Pulled, Renewed, Settlement, Standing
from holdfast.core.tasks import Admission, Introduction


class WorkerStore(Protocol):
    """What one worker process needs."""

    async def register(self, who: Introduction) -> Standing: ...

    async def pull(
        self,
        incarnation: str,
        request: int,
        slots: int,
        lanes: Sequence[str],
        settlements: Sequence[Settlement],
        weights: Sequence[int] = (),
    ) -> Pulled:
        """Settle, then claim up to `slots`. `weights`: one for each lane; none: the first that holds something."""
        ...

    async def earlier(self, task_id: str, before: int) -> tuple[tuple[bytes, ...], int]:
        """Of the first `before` items of a task's history the last ones, as far as one answer has room; and how many go
        before those."""
        ...

    async def inbox(self, incarnation: str) -> tuple[str, bytes] | None:
        """The lane and bytes of the entry at the head of the inbox, or None."""
        ...

    async def admit(self, incarnation: str, admission: Admission) -> str:
        """Take the head of the inbox as read; answers a word of Accepted, `set-aside`, or `gone` (admitted before)."""
        ...

    async def renew(
        self, incarnation: str, state: str, answered: int, holdings: Sequence[Holding], lanes: Sequence[str] = ()
    ) -> Renewed:
        """Keep the lease, and compare what is held with what is owned; look whether anything waits in these lanes."""
        ...

    async def listen(self, incarnation: str, lanes: Sequence[str], timeout: float) -> Hint | None:
        """Block until something happens, at most `timeout` seconds; with no lanes only for this worker's own hints."""
        ...

    async def wake(self, incarnation: str) -> None:
        """End this worker's own `listen`, so that it can be called with other lanes."""
        ...
