"""Changes of a batch: seal, cancel."""

from __future__ import annotations

import time

from holdfast.errors import UnknownBatchError
from holdfastd.web.changes.change import Asked, PageChange

STEP = 50  # tasks that are canceled at once: a millisecond or two of the store
LONGEST = 2.0  # seconds of one request; the page of the batch offers to go on


async def _seal(asked: Asked) -> None:
    await asked.manager.batch(asked.subject).seal()


async def _cancel(asked: Asked) -> None:
    one, until = asked.manager.batch(asked.subject), time.monotonic() + LONGEST
    while time.monotonic() < until:
        step = await asked.access.store.cancel_batch(one.id, STEP, asked.reason("canceled")[:1000])
        if step.word == "unknown":
            raise UnknownBatchError(f"no batch {one.id}; one that ended long ago is forgotten")
        if not step.left:
            return


BATCH_CHANGES = (
    PageChange("/batches/seal", "batch", "/batch?id={}", _seal),
    PageChange("/batches/cancel", "batch", "/batch?id={}", _cancel),
)
