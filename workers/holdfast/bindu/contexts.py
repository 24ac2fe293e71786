"""The part of the storage that keeps contexts: conversations, each with its tasks and one owner."""

from __future__ import annotations

from uuid import UUID

from holdfast.bindu.envelopes import decoded, encoded
from holdfast.bindu.ids import named
from holdfast.bindu.lazy_store import MOST, Document, LazyStore, most
from holdfast.bindu.type_checks import checked, document, documents

STEP = 50  # tasks that are cleared in one call of the store


class ContextStorage(LazyStore):
    async def load_context(self, context_id: UUID) -> Document | None:
        context = await self._call(self._store.conversation, str(checked("context_id", context_id)))
        if context is None:
            return None
        data: Document = decoded(context.data) if context.data else {}
        return {**data, "task_ids": [named(each) for each in context.task_ids]}

    async def append_to_contexts(self, context_id: UUID, messages: list[Document]) -> None:
        """Nothing to do: a context's messages are those of its tasks."""
        checked("context_id", context_id)
        documents("messages", "Message", messages)

    async def update_context(self, context_id: UUID, context: Document) -> None:
        key = str(checked("context_id", context_id))
        await self._call(self._store.write_conversation, key, encoded(document("context", context)))

    async def list_contexts(
        self, length: int | None = None, offset: int = 0, owner_did: str | None = None
    ) -> list[Document]:
        """The newest first, at most a thousand."""
        ids = await self._call(self._store.conversations, owner_did, most(length), offset)
        contexts = [each for key in ids if (each := await self._call(self._store.conversation, key)) is not None]
        return [
            {
                "context_id": named(each.context_id),
                "task_count": len(each.task_ids),
                "task_ids": [named(task_id) for task_id in each.task_ids],
            }
            for each in contexts
        ]

    async def clear_context(self, context_id: UUID) -> None:
        """Cancel and delete its tasks. Raises ValueError for an unknown one."""
        if not await self._clear(str(checked("context_id", context_id))):
            raise ValueError(f"context {context_id} not found")

    async def clear_all(self) -> None:
        """Clear all contexts with their tasks. Tasks of other producers stay."""
        while ids := await self._call(self._store.conversations, None, MOST, 0):
            for context_id in ids:
                await self._clear(context_id)

    async def _clear(self, context_id: str) -> bool:
        left = known = await self._call(self._store.clear_conversation, context_id, STEP)
        while left > 0:
            left = await self._call(self._store.clear_conversation, context_id, STEP)
        return known >= 0

    async def get_context_owner(self, context_id: UUID) -> str | None:
        context = await self._call(self._store.conversation, str(checked("context_id", context_id)))
        return context.owner or None if context is not None else None
