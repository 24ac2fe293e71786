"""Entries too large for the store to read: read here, admitted there."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import structlog

from holdfast.core.envelope import Run, UnreadableError, read
from holdfast.core.identity import sha1_hex
from holdfast.core.tasks import Admission
from holdfast.worker.context import WorkerContext
from holdfast.worker.pull import Puller

_log = structlog.get_logger("holdfast.worker")


def admission(raw: bytes, max_bytes: int) -> Admission:
    """How this entry reads."""
    digest = sha1_hex(raw)
    try:
        operation = read(raw, max_bytes)
    except UnreadableError as error:
        return Admission(digest, "unreadable", reason=str(error))
    if isinstance(operation, Run):
        verb = "resume" if operation.resumes else "run"
        return Admission(digest, verb, operation.task_id, operation.message_id, name=operation.name or "")
    return Admission(digest, operation.verb, operation.task_id)


@dataclass(slots=True)
class Inbox:
    post: WorkerContext
    claims: Puller

    async def serve(self) -> None:
        """Admit what pulls have put into the inbox; for ever."""
        post = self.post
        while True:
            await self.claims.inbox.wait()
            self.claims.inbox = anyio.Event()
            while entry := await post.insist.call("inbox", lambda: post.store.inbox(post.incarnation)):
                await self._admit(entry[1])
            self.claims.poke()

    async def _admit(self, raw: bytes) -> None:
        post, read_as = self.post, admission(raw, self.post.spec.settings.max_message_bytes)
        answer = await post.insist.call("admit", lambda: post.store.admit(post.incarnation, read_as))
        if answer == "set-aside":
            _log.warning("a large entry was set aside", size=len(raw), reason=read_as.reason)
