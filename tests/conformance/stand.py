"""One store under test, whatever it is made of: what tests ask of it, in the words of the port."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.core.acceptance import Accepted
from holdfast.core.begun_page import RUNS
from holdfast.core.delivery import Delivery, Pulled, Settle, Settlement
from holdfast.core.tasks import TaskRecord
from holdfast.core.worker_records import WorkerKind
from tests.lua.operations import introduction, submission

if TYPE_CHECKING:
    from holdfast.store import Store

CAUSE = "died"


class Stand:
    """Each store gives `push` and `advance`; the rest speaks through the port alone.

    `remembers`: what was trimmed can still be asked about.
    """

    remembers = False

    def __init__(self, store: Store, queue: str) -> None:
        self.store, self.queue = store, queue
        self._requests: dict[str, int] = {}

    async def push(self, *entries: bytes, lane: str | None = None) -> None:
        """Push as a foreign producer does, with its bytes."""
        raise NotImplementedError

    async def advance(self, ms: int) -> None:
        """The store's clock, which stands still between the calls of a test, goes on."""
        raise NotImplementedError

    async def aclose(self) -> None:
        await self.store.aclose()

    async def submit(self, *task_ids: str, lane: str | None = None, **more: Any) -> list[Accepted]:
        return await self.store.submit([submission(task_id, lane or self.queue, **more) for task_id in task_ids])

    async def message(self, task_id: str, message_id: str, text: str = "more") -> Accepted:
        [answer] = await self.store.submit([submission(task_id, self.queue, message_id, text=text)])
        return answer

    async def register(self, *incarnations: str, kind: WorkerKind = WorkerKind.WORKER) -> None:
        for incarnation in incarnations:
            known = replace(introduction(incarnation, kind=kind), answered=self._requests.get(incarnation, 0))
            await self.store.register(known)

    async def pull(
        self,
        incarnation: str,
        slots: int = 10,
        *settlements: Settlement,
        request: int | None = None,
        lanes: Sequence[str] = (),
        weights: Sequence[int] = (),
        ahead: int = 0,
    ) -> Pulled:
        """The worker's next request, or one of a given number; with the plain queue as only lane."""
        number = self._requests.get(incarnation, 0) + 1 if request is None else request
        self._requests[incarnation] = max(number, self._requests.get(incarnation, 0))
        return await self.store.pull(incarnation, number, slots, lanes or [self.queue], settlements, weights, ahead)

    async def take(self, incarnation: str, slots: int = 10, *settlements: Settlement) -> list[Delivery]:
        return list((await self.pull(incarnation, slots, *settlements)).deliveries)

    async def settle(self, incarnation: str, delivery: Delivery, kind: Settle, **more: Any) -> str:
        """Settle one delivery, claim nothing; the verdict."""
        pulled = await self.pull(incarnation, 0, settlement(delivery, kind, **more))
        return pulled.verdicts[0]

    async def task(self, task_id: str) -> TaskRecord:
        record = await self.store.get(task_id)
        assert record is not None, f"no task {task_id}"
        return record

    async def state(self, task_id: str) -> str:
        return (await self.task(task_id)).state

    async def reasons(self) -> list[str]:
        """Why entries were set aside, newest first."""
        return [item.reason for item in await self.store.unreadable(1000)]

    async def crash(
        self, incarnation: str, *, charged: bool = True, ordered: bool = False, begun: Collection[str] | None = None
    ) -> int:
        """`begun`: the tasks that it was running, or what it has noted."""
        noted = begun if begun is None or isinstance(begun, dict) else dict.fromkeys(begun, RUNS)
        return await self.store.recover(incarnation, CAUSE, charged, ordered=ordered, begun=noted)


def settlement(delivery: Delivery, kind: Settle, **more: Any) -> Settlement:
    return Settlement(delivery.task_id, delivery.claim, kind, **more)
