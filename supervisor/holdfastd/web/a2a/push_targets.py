"""Sets, reads and removes where clients want to be told of a task."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from holdfastd.a2a.push_target import PushTarget, read_targets, spelled_targets, with_target
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.web.queue.queue_access import QueueAccess


@dataclass(frozen=True, slots=True)
class PushTargets:
    """Those of the tasks of a queue. A task with some has a webhook, so that its end and its questions are told; where
    it has one of its producer's own, that one is told, too."""

    access: QueueAccess

    async def of(self, task_id: str) -> list[PushTarget]:
        return read_targets(await self.access.store.push(task_id))

    async def one(self, task_id: str, target_id: str) -> PushTarget:
        """Without an id the first. Raises RpcError."""
        for each in await self.of(task_id):
            if target_id in ("", each.target_id):
                return each
        raise RpcError(RpcCode.TASK_NOT_FOUND, f"task {task_id} has no such push notification settings")

    async def keep(self, task_id: str, target: PushTarget) -> PushTarget:
        """Beside a task that is not submitted yet; its submission has the URL as its webhook."""
        known = target if target.target_id else replace(target, target_id=task_id)
        await self.access.store.add(task_id, push=spelled_targets(with_target(await self.of(task_id), known)))
        return known

    async def set(self, task_id: str, target: PushTarget) -> PushTarget:
        before = await self.of(task_id)
        kept = await self.keep(task_id, target)
        await self._tell(task_id, before, await self.of(task_id))
        return kept

    async def remove(self, task_id: str, target_id: str) -> None:
        """Nothing is wrong with one that is not there."""
        before = await self.of(task_id)
        rest = [each for each in before if each.target_id != target_id]
        await self._tell(task_id, before, rest)  # first: a notice for a URL without settings goes out as a webhook
        if rest:
            await self.access.store.add(task_id, push=spelled_targets(rest))
        elif before:
            await self.access.store.forget_push(task_id)

    async def _tell(self, task_id: str, before: list[PushTarget], now: list[PushTarget]) -> None:
        """The webhook of the task is the URL of the first."""
        old, new = (targets[0].url if targets else "" for targets in (before, now))
        if old != new:
            await self.access.store.set_webhook_of_task(task_id, old, new)
