"""Check and submit tasks, in batches."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.lowlevel

from holdfast.client.arguments import check_batch
from holdfast.client.submission import Draft, built, draft, refusal, registered
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.submit_trace import submit_spans
from holdfast.client.task_spec import TaskSpec
from holdfast.core.tasks import Receipt, Submission
from holdfast.errors import StoreError
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.handler.registry import Handlers
    from holdfast.telemetry.submit_spans import SubmitSpan

CHUNK = 100  # submissions in one call of the store
CHUNK_BYTES = 1 << 20  # of their operations, unless one alone has more

T = TypeVar("T")

_log = logging.getLogger("holdfast.client.manager")  # the application's own logging, silent unless it asks for debug


class Submitter:
    """The calls of TaskManager that submit. `max_bytes`: the size of the largest operation; `handlers`: a registry that
    gives named tasks their lane and checks their arguments; `baggage`: that of the caller goes along with each task.

    Where the application has a tracer, a task that is submitted alone has a span `send`, and one of a batch a span
    `create` beside the `send` of the batch.
    """

    def __init__(
        self,
        store: Store,
        queue: str,
        retries: SubmitRetries,
        max_bytes: int,
        handlers: Handlers[Any, Any] | None,
        *,
        baggage: bool = False,
    ) -> None:
        self._baggage = baggage
        self._store = store
        self._call = retries.call
        self._queue = queue
        self._max_bytes = max_bytes
        self._handlers = handlers

    def prepare(self, spec: TaskSpec) -> Submission:
        """Check `spec` and make what `submit` takes: the same bytes each time it is submitted. InvalidTaskError."""
        return self._created(self.draft(spec))

    def draft(self, spec: TaskSpec) -> Draft:
        """Check `spec`, as `prepare` does, and leave the rest to `submit_drafts`. InvalidTaskError."""
        if self._handlers is not None:
            spec = registered(spec, self._handlers)
        return draft(spec, self._queue, self._max_bytes)

    async def run(self, spec: TaskSpec) -> str:
        """Submit one task; the id of the task that stands for it. Raises what TaskManager.run_task does."""
        one, receipt = await self.send(spec)
        if error := refusal(one, receipt):
            raise error
        return receipt.task_id

    async def send(self, spec: TaskSpec) -> tuple[Submission, Receipt]:
        """Prepare and submit one task; its submission and the answer, a refusal included."""
        checked, spans = self.draft(spec), submit_spans()
        if spans is None:
            one = self._built(checked)
            return one, await self.submit_one(one)
        with spans.send(checked.spec.lane or self._queue, self._store.address()) as span:
            one = self._built(checked)
            span.about(one)
            return one, await self.submit_one(one)

    async def submit(self, batch: Sequence[Submission]) -> list[Receipt]:
        """The answer for each, refusals included; the batch may be submitted again after an error."""
        batch, answers = check_batch(batch), list[Receipt]()
        with _counting(answers, len(batch)):
            for chunk in _chunks(batch, lambda one: len(one.operation)):
                answers += await self._submit(chunk)
        return answers

    async def submit_one(self, one: Submission) -> Receipt:
        """As `submit`, for one: a call for one task takes less time than a batch of one."""
        if one.options:
            return (await self.submit([one]))[0]
        try:
            [answer] = await self._call(self._store.submit, (one,))
        except StoreError as error:
            _add_count(error, 0, 1)
            raise
        receipt = Receipt(answer, one.task_id)
        if _log.isEnabledFor(logging.DEBUG):
            _log_answers((one,), (receipt,))
        return receipt

    async def submit_drafts(self, drafts: Sequence[Draft]) -> tuple[list[Submission], list[Receipt]]:
        """The submission of each and its answer, refusals included. A chunk is made while the one before is on its way
        to the store."""
        spans = submit_spans()
        if spans is None:
            return await self._submit_drafts(drafts, None)
        lanes = {one.spec.lane or self._queue for one in drafts}
        with spans.send_batch(len(drafts), lanes, self._store.address()) as span:
            return await self._submit_drafts(drafts, span)

    async def _submit_drafts(
        self, drafts: Sequence[Draft], span: SubmitSpan | None
    ) -> tuple[list[Submission], list[Receipt]]:
        batch, answers = list[Submission](), list[Receipt]()
        chunks = _chunks(drafts, lambda one: len(one.message))
        following = self._chunk(chunks, span)
        with _counting(answers, len(drafts)):
            while chunk := following:
                batch += chunk
                call = _Call(self._submit, chunk)
                async with anyio.create_task_group() as group:
                    group.start_soon(call.make)
                    await anyio.lowlevel.checkpoint()  # now it is sent
                    following = self._chunk(chunks, span)
                answers += call.answered()
        return batch, answers

    def _chunk(self, chunks: Iterator[Sequence[Draft]], span: SubmitSpan | None) -> list[Submission]:
        drafts = next(chunks, ())
        if span is None:
            return [self._built(one) for one in drafts]
        return [self._created(one, span) for one in drafts]

    def _created(self, checked: Draft, batch: SubmitSpan | None = None) -> Submission:
        spans = submit_spans()
        if spans is None:
            return self._built(checked)
        with spans.create(checked.spec.lane or self._queue, self._store.address(), batch) as span:
            one = self._built(checked)
            span.about(one)
            return one

    def _built(self, one: Draft) -> Submission:
        return built(one, self._queue, self._max_bytes, baggage=self._baggage)

    async def _submit(self, chunk: Sequence[Submission]) -> list[Receipt]:
        if any(one.options for one in chunk):
            receipts = await self._call(self._store.submit_with_options, chunk)
        else:
            answers = await self._call(self._store.submit, chunk)
            receipts = [Receipt(answer, one.task_id) for one, answer in zip(chunk, answers, strict=True)]
        if _log.isEnabledFor(logging.DEBUG):
            _log_answers(chunk, receipts)
        return receipts


class _Call:
    """A call in a task group, whose error is raised as it is."""

    def __init__(self, submit: Callable[[Sequence[Submission]], Awaitable[list[Receipt]]], chunk: list[Submission]):
        self._submit = submit
        self._chunk = chunk
        self._answers: list[Receipt] | Exception = []

    async def make(self) -> None:
        try:
            self._answers = await self._submit(self._chunk)
        except Exception as error:  # raised by `answered`, outside of the group
            self._answers = error

    def answered(self) -> list[Receipt]:
        if isinstance(self._answers, Exception):
            raise self._answers
        return self._answers


def _chunks(items: Sequence[T], size: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """The items in order, in parts for one call of the store."""
    start = 0
    while start < len(items):
        end, total = start + 1, size(items[start])
        while end < min(start + CHUNK, len(items)) and (total := total + size(items[end])) <= CHUNK_BYTES:
            end += 1
        yield items[start:end]
        start = end


@contextmanager
def _counting(answers: Sequence[Receipt], count: int) -> Generator[None]:
    """Add to an error how many tasks were accepted before."""
    try:
        yield
    except StoreError as error:
        _add_count(error, len(answers), count)
        raise


def _add_count(error: StoreError, accepted: int, count: int) -> None:
    error.add_note(f"{accepted} of {count} tasks were accepted before")


def _log_answers(chunk: Sequence[Submission], answers: Sequence[Receipt]) -> None:
    for one, answer in zip(chunk, answers, strict=True):
        _log.debug(
            "task scheduled: %s",
            answer.task_id,
            extra={
                "event": "task scheduled",
                "task": answer.task_id,
                "lane": one.lane,
                "answer": str(answer.accepted),
            },
        )
