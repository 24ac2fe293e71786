"""Changes of a batch: seal, cancel."""

from __future__ import annotations

from holdfastd.operations.batches import CANCEL_BATCH, SEAL_BATCH
from holdfastd.web.changes.change import change_of

BATCH_CHANGES = (change_of(SEAL_BATCH, "/batch?id={}"), change_of(CANCEL_BATCH, "/batch?id={}"))
