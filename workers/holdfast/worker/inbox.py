"""Reads entries that are too large for the store to read, and tells the store how each of them reads."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from holdfast.core.envelope import Run, UnreadableError, read
from holdfast.core.identity import sha1_hex
from holdfast.core.tasks import Admission
from holdfast.worker.context import WorkerContext

_log = structlog.get_logger("holdfast.worker")


def admission(raw: bytes, max_bytes: int) -> Admission:
    """The operation in this entry, or why it cannot be read."""
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
    context: WorkerContext

    async def serve(self) -> None:
        """Admit the entries that pulls put into the inbox; never returns."""
        context, state = self.context, self.context.state
        while True:
            await state.changed.until(lambda: state.inbox_waits)
            state.inbox_waits = False
            while entry := await context.retries.call("inbox", lambda: context.store.inbox(context.incarnation)):
                await self._admit(entry[1])
            state.want_pull()

    async def _admit(self, raw: bytes) -> None:
        context, admitted = self.context, admission(raw, self.context.spec.settings.max_message_bytes)
        answer = await context.retries.call("admit", lambda: context.store.admit(context.incarnation, admitted))
        if answer == "set-aside":
            _log.warning("a large entry was set aside", size=len(raw), reason=admitted.reason)
