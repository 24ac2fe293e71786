"""Batches as documents."""

from __future__ import annotations

from typing import TypedDict

from holdfast.core.batches import BatchRecord, BatchState
from holdfastd.documents.times import Moment, moment


class BatchCountsDocument(TypedDict):
    """The number of tasks by how they have ended."""

    total: int
    open: int
    completed: int
    failed: int
    rejected: int
    canceled: int
    gone: int
    retried: int
    ended: int


class BatchDocument(TypedDict):
    """A batch. `expected`: the tasks that its producer has announced; `callback`: the id of the task that runs at its
    end."""

    batch: str
    state: BatchState
    expected: int
    counts: BatchCountsDocument
    callback: str | None
    created: Moment | None
    sealed: Moment | None
    sealed_by: str | None
    ended: Moment | None
    canceled: Moment | None


def batch_document(record: BatchRecord) -> BatchDocument:
    counts = record.counts
    return {
        "batch": record.batch_id,
        "state": record.state,
        "expected": record.expected,
        "counts": {
            "total": counts.total,
            "open": counts.open,
            "completed": counts.completed,
            "failed": counts.failed,
            "rejected": counts.rejected,
            "canceled": counts.canceled,
            "gone": counts.gone,
            "retried": counts.retried,
            "ended": counts.ended,
        },
        "callback": record.then or None,
        "created": moment(record.created_ms),
        "sealed": moment(record.sealed_ms),
        "sealed_by": record.sealed_by or None,
        "ended": moment(record.ended_ms),
        "canceled": moment(record.canceled_ms),
    }
