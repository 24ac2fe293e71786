"""The port of conversations, and of what is kept beside tasks."""

from __future__ import annotations

from typing import Protocol

from holdfast.core.conversations import About, Conversation, NotedWrite


class ConversationStore(Protocol):
    """What an application needs that keeps its conversations where its tasks are. Payloads are JSON."""

    async def note(self, task_id: str, context_id: str, owner: str, message: bytes) -> str:
        """Before a task, or one more message for it, is submitted: a word of Noted, or the state in which it ended."""
        ...

    async def note_state(self, task_id: str, state: str, wanted: tuple[str, ...] = ()) -> NotedWrite:
        """Write the state of a task that is noted and not submitted; with `wanted` only if it is in one of these."""
        ...

    async def noted(self, limit: int, offset: int) -> tuple[dict[str, str], int]:
        """The states of the tasks that are noted and not submitted, by task id, at most `limit`; and the next offset,
        -1 at the end."""
        ...

    async def noted_state(self, task_id: str) -> str:
        """The state that was written to a noted task; empty for one that is not noted or was submitted."""
        ...

    async def add(
        self,
        task_id: str,
        *,
        ran: bool = False,
        metadata: dict[str, bytes] | None = None,
        added: tuple[bytes, ...] = (),
        feedback: bytes | None = None,
        push: bytes | None = None,
    ) -> None:
        """Keep something beside a task, as long as its record is kept. `ran`: what was noted has been submitted."""
        ...

    async def about(self, task_id: str) -> About: ...

    async def cancel_if(self, task_id: str, states: tuple[str, ...], reason: str) -> bool:
        """Cancel a task that is in one of these states; whether this call did."""
        ...

    async def conversation(self, context_id: str) -> Conversation | None: ...

    async def conversations(self, owner: str | None, limit: int, offset: int) -> list[str]:
        """Context ids, the one begun last first: of an owner ('' for those of nobody), or of all."""
        ...

    async def write_conversation(self, context_id: str, data: bytes) -> None:
        """One that is not known is opened, and is nobody's."""
        ...

    async def clear_conversation(self, context_id: str, limit: int) -> int:
        """Cancel and delete its first tasks; how many are left, -1 for an unknown one. With none left it is deleted."""
        ...

    async def feedback(self, task_id: str) -> list[bytes]: ...

    async def push(self, task_id: str) -> bytes | None: ...

    async def pushes(self) -> dict[str, bytes]: ...

    async def forget_push(self, task_id: str) -> None: ...
