"""The part of the storage that keeps feedback, webhook configurations and owners of tasks."""

from __future__ import annotations

from uuid import UUID

from holdfast.bindu.envelopes import decoded, encoded
from holdfast.bindu.ids import named
from holdfast.bindu.lazy_store import Document, LazyStore
from holdfast.bindu.type_checks import checked, document


class FeedbackStorage(LazyStore):
    async def store_task_feedback(self, task_id: UUID, feedback_data: Document) -> None:
        key = str(checked("task_id", task_id))
        await self._call(self._store.add, key, feedback=encoded(document("feedback_data", feedback_data)))

    async def get_task_feedback(self, task_id: UUID) -> list[Document] | None:
        entries = await self._call(self._store.feedback, str(checked("task_id", task_id)))
        return [decoded(each) for each in entries] or None

    async def save_webhook_config(self, task_id: UUID, config: Document) -> None:
        key = str(checked("task_id", task_id))
        await self._call(self._store.add, key, push=encoded(document("config", config)))

    async def load_webhook_config(self, task_id: UUID) -> Document | None:
        config = await self._call(self._store.push, str(checked("task_id", task_id)))
        return None if config is None else _config(config)

    async def delete_webhook_config(self, task_id: UUID) -> None:
        await self._call(self._store.forget_push, str(checked("task_id", task_id)))

    async def load_all_webhook_configs(self) -> dict[UUID, Document]:
        return {named(key): _config(each) for key, each in (await self._call(self._store.pushes)).items()}

    async def get_task_owner(self, task_id: UUID) -> str | None:
        return (await self._call(self._store.about, str(checked("task_id", task_id)))).owner or None


def _config(raw: bytes) -> Document:
    config: Document = decoded(raw)
    return {**config, "id": named(config.get("id"))}
