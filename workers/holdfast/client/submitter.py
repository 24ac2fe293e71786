"""Check and submit tasks, in batches."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.client.arguments import check_batch
from holdfast.client.submission import registered, submission
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.tasks import Receipt, Submission
from holdfast.errors import StoreError
from holdfast.store.protocol import ProducerStore

if TYPE_CHECKING:
    from holdfast.handler.registry import Handlers

CHUNK = 100  # submissions in one call of the store

_log = logging.getLogger("holdfast.client.manager")  # the application's own logging, silent unless it asks for debug


class Submitter:
    """The calls of TaskManager that submit. `max_bytes`: the size of the largest operation; `handlers`: a registry that
    gives named tasks their lane and checks their arguments."""

    def __init__(
        self, store: ProducerStore, queue: str, retries: SubmitRetries, max_bytes: int, handlers: Handlers | None
    ) -> None:
        self._store = store
        self._call = retries.call
        self._queue = queue
        self._max_bytes = max_bytes
        self._handlers = handlers

    def prepare(self, spec: TaskSpec) -> Submission:
        """Check `spec` and make what `submit` takes: the same bytes each time it is submitted. InvalidTaskError."""
        if self._handlers is not None:
            spec = registered(spec, self._handlers)
        return submission(spec, self._queue, self._max_bytes)

    async def submit(self, batch: Sequence[Submission]) -> list[Receipt]:
        """The answer for each, refusals included; the batch may be submitted again after an error."""
        batch, answers = check_batch(batch), list[Receipt]()
        try:
            for start in range(0, len(batch), CHUNK):
                answers += await self._submit(batch[start : start + CHUNK])
                if _log.isEnabledFor(logging.DEBUG):
                    _log_answers(batch[start : start + CHUNK], answers[start:])
        except StoreError as error:
            error.add_note(f"{len(answers)} of {len(batch)} tasks were accepted before")
            raise
        return answers

    async def _submit(self, chunk: Sequence[Submission]) -> list[Receipt]:
        if any(one.terms for one in chunk):
            return await self._call(self._store.submit_on_terms, chunk)
        answers = await self._call(self._store.submit, chunk)
        return [Receipt(answer, one.task_id) for one, answer in zip(chunk, answers, strict=True)]


def _log_answers(chunk: Sequence[Submission], answers: Sequence[Receipt]) -> None:
    for one, answer in zip(chunk, answers, strict=True):
        _log.debug(
            "task scheduled: %s",
            answer.task_id,
            extra={"task": answer.task_id, "lane": one.lane, "answer": str(answer.accepted)},
        )
