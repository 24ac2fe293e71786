"""Acts on batches."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_batch_id
from holdfast.core.batches import BATCH_ID, BatchRecord, Sealed
from holdfast.errors import UnknownBatchError
from holdfast.store import Store
from holdfastd.documents.task_documents import BatchDocument, batch_document
from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.known import meant

STEP = 50  # tasks that one call of the store cancels: a millisecond or two of the store's time
LATEST = 1000  # newest batches that are compared with an unknown id, for a suggestion

Batch = Annotated[str, Meta(description="Id of the batch.", extra_json_schema={"pattern": f"^{BATCH_ID.pattern}$"})]


class SealBatch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The batch to seal."""

    batch: Batch


class CancelBatch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The batch to cancel, and the reason."""

    batch: Batch
    reason: Reason = ""


class SealedBatch(BatchDocument):
    """The batch. `sealed_now`: false if the batch was sealed before."""

    sealed_now: bool


class CanceledBatch(BatchDocument):
    """The batch. `canceled_now`: the number of tasks that this call has canceled. Call again while tasks of a canceled
    batch are open."""

    canceled_now: int


async def seal_batch(doing: Doing, given: SealBatch) -> SealedBatch:
    """Seal a batch whose producer is gone: it takes no more tasks, and ends when all its tasks have ended."""
    await doing.call(known_batch, doing.store, given.batch)
    word = await doing.call(doing.store.seal_batch, given.batch)
    record = await doing.call(known_batch, doing.store, given.batch)
    return {**batch_document(record), "sealed_now": word == Sealed.SEALED}


async def cancel_batch(doing: Doing, given: CancelBatch) -> CanceledBatch:
    """Cancel the callback of a batch and its tasks that have not ended. Running handlers are interrupted."""
    reason = doing.reason("its batch was canceled", given.reason)
    before = await doing.call(known_batch, doing.store, given.batch)
    began, is_late, canceled, left = time.monotonic(), False, 0, 1
    while left and not is_late:
        step = await doing.call(doing.store.cancel_batch, given.batch, STEP, reason)
        canceled, left = canceled + step.tasks, step.left
        doing.step(canceled)
        is_late = doing.seconds is not None and time.monotonic() - began >= doing.seconds
    record = await doing.call(known_batch, doing.store, given.batch)
    return {**batch_document(record), "canceled_now": record.counts.canceled - before.counts.canceled}


async def known_batch(store: Store, batch_id: str) -> BatchRecord:
    """The record of a batch. Raises UnknownBatchError, which suggests similar ids."""
    record = await store.batch(check_batch_id(batch_id))
    if record is None:
        latest = {each.batch_id for each in (await store.batches(LATEST)).batches}
        raise UnknownBatchError(
            f"no batch {batch_id}; a batch that ended long ago is forgotten; {meant(batch_id, latest)}"
        )
    return record


SEAL_BATCH = Act("batches/seal", SealBatch, seal_batch, "batch")
CANCEL_BATCH = Act("batches/cancel", CancelBatch, cancel_batch, "batch")
