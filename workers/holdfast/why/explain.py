"""Explains a task by the facts in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.why.document import WhyDocument, document
from holdfast.why.gather import gather
from holdfast.why.history import TaskHistory, events_of
from holdfast.why.task_spans import task_spans, tracing_of
from holdfast_config import Settings

if TYPE_CHECKING:
    from holdfast.store import Store


def usual(settings: Settings | None) -> Settings:
    """The given settings, else the defaults of a worker."""
    return Settings() if settings is None else settings


async def explain(store: Store, queue: str, task_id: str, settings: Settings) -> WhyDocument:
    """The document of the task. Raises UnknownTaskError."""
    snapshot, workers = await gather(store, queue, task_id, settings)
    known = TaskHistory(workers, events=events_of(snapshot.steps))
    return document(snapshot, known, task_spans(snapshot.task, snapshot.steps, tracing_of(settings)))
