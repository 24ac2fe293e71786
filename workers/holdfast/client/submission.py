"""Makes the submission, which the store takes, from a task spec, and makes errors from the store's answers."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from os import urandom
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import anyio
import anyio.lowlevel

from holdfast.client.arguments import check, check_batch, checked_options, ms, unix_ms
from holdfast.client.submit_retries import RepeatedCalls, SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted, Receipt, Submission, SubmitOptions
from holdfast.core.envelope import build_parts, build_run, encode_message
from holdfast.core.identity import keyed_id, uuid_text
from holdfast.core.plain_json import shown
from holdfast.errors import (
    BatchClosedError,
    BatchConflictError,
    HoldfastError,
    InvalidTaskError,
    LaneTypeError,
    MessageConflictError,
    StoreError,
    StoreRefusedError,
    TaskEndedError,
    TooManyMessagesError,
    UnknownTaskError,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from holdfast.store import Store
    from holdfast.telemetry.submit_spans import SubmitSpans


# The producer's side of tracing. This code imports OpenTelemetry only if the application has imported it.


class ProducerTrace(NamedTuple):
    """The trace fields of an envelope: the span in which the task is submitted. `flags`: two hex digits of W3C Trace
    Context. `baggage`: a W3C `baggage` header."""

    trace_id: str | None = None
    span_id: str | None = None
    flags: str | None = None
    baggage: str | None = None


_NONE = ProducerTrace()
_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?P<more>-.*)?"
)
BAGGAGE_BYTES = 4096


def current_trace(*, with_baggage: bool = False) -> ProducerTrace:
    """The trace fields for the current span, which link the run of the task to the producer's trace. If there is no
    span, all fields are None. `with_baggage`: include the baggage of the current context."""
    if "opentelemetry.trace" not in sys.modules:  # without this module there is no span, and importing it is slow
        return _NONE
    from holdfast.telemetry.without_sdk import current_span

    header = _baggage() if with_baggage else None
    span = current_span()
    if span is None:
        return _NONE if header is None else ProducerTrace(baggage=header)
    return ProducerTrace(f"{span.trace_id:032x}", f"{span.span_id:016x}", f"{span.trace_flags:02x}", header)


def trace_of_header(traceparent: str) -> ProducerTrace:
    """The trace fields from a `traceparent` header (W3C Trace Context). All are None if the header is not valid."""
    found = _TRACEPARENT.fullmatch(traceparent.strip())
    if not found or (found["version"] == "00" and found["more"]):  # later versions may have more fields
        return _NONE
    return ProducerTrace(*found.group(2, 3, 4))


def submit_spans() -> SubmitSpans | None:
    """The spans of submits, made with the application's tracer; None if the application has none."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from holdfast.telemetry.submit_spans import of_application

    return of_application()


def _baggage() -> str | None:
    """The baggage of the current context as a header; None if there is none, or if it is longer than BAGGAGE_BYTES."""
    from holdfast.telemetry.without_sdk import baggage_header

    header = baggage_header()
    return header if header and len(header) <= BAGGAGE_BYTES else None


AROUND = 32768  # bytes of an operation beside its message, at most: ids of up to 1,000 characters, baggage of 4 KB


class Registry(Protocol):
    """The part of `holdfast.Handlers` that a producer uses to check named tasks. A producer may have no registry."""

    def fitted(self, spec: TaskSpec) -> TaskSpec:
        """The task with the lane that the registry gives its handler, after a check of its arguments. A task without a
        handler's name is returned unchanged. Raises InvalidTaskError."""
        ...


class Draft(NamedTuple):
    """A checked task: its spec, its encoded message, and its options for the store (None: no options)."""

    spec: TaskSpec
    message: bytes
    options: SubmitOptions | None


def submission(spec: TaskSpec, queue: str, max_bytes: int, trace: ProducerTrace | None = None) -> Submission:
    """The submission for `spec`. To repeat a submit after an error, submit the same value again. Raises
    InvalidTaskError."""
    return built(draft(spec, queue, max_bytes), queue, max_bytes, trace)


def draft(spec: TaskSpec, queue: str, max_bytes: int) -> Draft:
    """Check `spec` and the size of its operation; returns the draft. Raises InvalidTaskError."""
    check(spec)
    options = checked_options(spec)
    message = encode_message(build_parts(spec.text, spec.data, spec.name, spec.kwargs), spec.metadata)
    checked = Draft(spec, message, options)
    if len(message) > max_bytes - AROUND:
        built(checked, queue, max_bytes)
    return checked


def built(
    checked: Draft, queue: str, max_bytes: int, trace: ProducerTrace | None = None, *, baggage: bool = False
) -> Submission:
    """The submission for a draft. If the draft has no ids, they are made here. Raises InvalidTaskError if the operation
    is too large.

    Without `trace` the envelope names the current span. `baggage`: the envelope carries the baggage of the current
    OpenTelemetry context.
    """
    spec = checked.spec
    keyed = keyed_id(queue, spec.key) if spec.key is not None else None
    task_id = spec.task_id or keyed or uuid_text(urandom(16), 4)
    trace = trace or current_trace(with_baggage=baggage)
    run = build_run(
        task_id,
        checked.message,
        context_id=spec.context_id,
        message_id=spec.message_id or keyed,
        trace_id=trace.trace_id,
        span_id=trace.span_id,
        trace_flags=trace.flags,
        baggage=trace.baggage,
    )
    if len(run.operation) > max_bytes:
        raise InvalidTaskError(f"the message has {len(run.operation)} bytes: at most {max_bytes} are allowed")
    return Submission(
        task_id=task_id,
        message_id=run.message_id,
        digest=run.digest,
        operation=run.operation,
        lane=spec.lane or queue,
        due_ms=unix_ms(spec.at),
        delay_ms=ms(spec.delay),
        name=spec.name or "",
        max_attempts=spec.max_attempts,
        timeout_ms=ms(spec.timeout),
        options=checked.options,
        concurrency_key=spec.concurrency_key or "",
    )


def raise_refusals(batch: Sequence[Submission], answers: Sequence[Receipt]) -> None:
    """Raise the error of the first submission that the store refused. The other submissions keep their own answers."""
    for one, answer in zip(batch, answers, strict=True):
        if error := refusal(one, answer):
            raise error


def refusal(one: Submission, answer: Receipt) -> HoldfastError | None:
    match answer.accepted:
        case Accepted.NEW | Accepted.TURN | Accepted.PENDING | Accepted.DUPLICATE:
            return None
        case Accepted.CONFLICT:
            return _conflict(one)
        case Accepted.TERMINAL:
            return TaskEndedError(f"task {one.task_id} has ended and takes no more messages; submit a new task")
        case Accepted.FULL:
            text = f"task {one.task_id} has as many waiting messages as max_pending_messages of the supervisor allows"
            return TooManyMessagesError(f"{text}; send this message again when the task has taken some of them")
        case Accepted.UNKNOWN:
            return UnknownTaskError(f"no task {one.task_id}; a task that ended long ago is forgotten")
        case Accepted.NO_PARENT:
            text = f"task {answer.task_id}, after which {one.task_id} is to run, is not known"
            return UnknownTaskError(f"{text}; submit it first; a task that ended long ago is forgotten")
        case Accepted.NO_LIST:
            key = f"key {one.lane}" if ":" in one.lane else f"key, which ends in }}:lane:{one.lane},"
            text = f"lane {shown(one.lane)}: in Redis its {key} is not a list"
            return LaneTypeError(f"{text}; rename this key (RENAME), or name another lane")
        case word:
            return _refused_by_others(one, word, answer.task_id)


def _conflict(one: Submission) -> MessageConflictError:
    if one.message_id == one.task_id:  # both are made from the key (see `prepare`)
        text = f"the key belongs to task {one.task_id}, which was submitted before with other arguments"
        return MessageConflictError(f"{text}; give another task another key")
    text = f"message {one.message_id} of task {one.task_id} was sent before with other content"
    return MessageConflictError(f"{text}; give new content a new message_id")


def _refused_by_others(one: Submission, word: Accepted, flaw: str) -> HoldfastError:
    """The error for a task that the store refused because of its batch, or because a record of its batch or parents is
    damaged (`flaw` says which)."""
    if word is Accepted.DAMAGED:
        text = f"task {one.task_id} is not accepted, because a record of its batch or parents is damaged: {flaw}"
        return StoreRefusedError(f"{text}; another program has changed this key in Redis: mend, rename or delete it")
    batch = one.options.batch.batch if one.options and one.options.batch else ""
    if word is Accepted.OTHER_BATCH:
        text = f"batch {batch} was submitted before with other tasks"
        return BatchConflictError(f"{text}; give these tasks a new batch id")
    if word is Accepted.TAKEN:
        text = f"task {one.task_id} exists already outside of batch {batch}, so the batch stays open without this task"
        return BatchConflictError(f"{text}; `supervisor batches cancel {batch}` ends the batch")
    text = f"batch {batch} was sealed or canceled by an operator before task {one.task_id} came"
    return BatchClosedError(f"{text}; submit the tasks that are missing as another batch")


# Check tasks and submit them in chunks.

CHUNK = 100  # submissions in one call of the store
CHUNK_BYTES = 1 << 20  # operations of one call, at most; a larger operation is sent alone

T = TypeVar("T")

_log = logging.getLogger("holdfast.client.manager")  # a logger of the application; it gets lines of level debug only


class Submitter(RepeatedCalls):
    """The calls of TaskManager that submit. `max_bytes`: the largest size that an operation may have. `handlers`: a
    registry that gives named tasks their lane and checks their arguments. `baggage`: tasks carry the caller's baggage.
    If the application has a tracer, a single submit gets a span `send`. A list gets one span `send`, and a span
    `create` for each task.
    """

    def __init__(
        self,
        store: Store,
        queue: str,
        retries: SubmitRetries,
        max_bytes: int,
        handlers: Registry | None,
        *,
        baggage: bool = False,
    ) -> None:
        super().__init__(store, queue, retries)
        self._max_bytes, self._handlers, self._baggage = max_bytes, handlers, baggage

    def prepare(self, spec: TaskSpec) -> Submission:
        """Check `spec` and make the value that `submit` takes. Submitting this value again sends the same bytes. Raises
        InvalidTaskError."""
        return self._created(self.draft(spec))

    def draft(self, spec: TaskSpec) -> Draft:
        """Check `spec` like `prepare` does, and make the value that `submit_drafts` takes. Raises InvalidTaskError."""
        if self._handlers is not None:
            spec = self._handlers.fitted(spec)
        return draft(spec, self._queue, self._max_bytes)

    async def run(self, spec: TaskSpec) -> str:
        """Submit one task; returns its id. If another task holds the `unique` key, returns the id of that task. Raises
        the errors of TaskManager.run_task."""
        one, receipt = await self.send(spec)
        if error := refusal(one, receipt):
            raise error
        return receipt.task_id

    async def send(self, spec: TaskSpec) -> tuple[Submission, Receipt]:
        """Prepare and submit one task. Returns the submission and the answer, which may be a refusal."""
        checked, spans = self.draft(spec), submit_spans()
        if spans is None:
            one = self._built(checked)
            return one, await self.submit_one(one)
        with spans.send(checked.spec.lane or self._queue, self._store.address()) as span:
            one = self._built(checked)
            spans.about(span, one)
            return one, await self.submit_one(one)

    async def submit(self, batch: Sequence[Submission]) -> list[Receipt]:
        """Submit a list of prepared values; returns the answer for each, refusals included. After an error, submit the
        same list again."""
        batch, answers = check_batch(batch), list[Receipt]()
        with _counting(answers, len(batch)):
            for chunk in _chunks(batch, lambda one: len(one.operation)):
                answers += await self._submit(chunk)
        return answers

    async def submit_one(self, one: Submission) -> Receipt:
        """Submit one prepared value; returns the answer. This is faster than `submit` with a list of one."""
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
        """Submit drafts in chunks; returns the submissions and their answers, refusals included. The next chunk is
        built while the chunk before travels to the store."""
        spans = submit_spans()
        if spans is None:
            return await self._submit_drafts(drafts, None)
        lanes = {one.spec.lane or self._queue for one in drafts}
        with spans.send_batch(len(drafts), lanes, self._store.address()) as span:
            return await self._submit_drafts(drafts, span)

    async def _submit_drafts(
        self, drafts: Sequence[Draft], span: Span | None
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
                    await anyio.lowlevel.checkpoint()  # the call begins here and sends its chunk
                    following = self._chunk(chunks, span)
                answers += call.answered()
        return batch, answers

    def _chunk(self, chunks: Iterator[Sequence[Draft]], span: Span | None) -> list[Submission]:
        drafts = next(chunks, ())
        if span is None:
            return [self._built(one) for one in drafts]
        return [self._created(one, span) for one in drafts]

    def _created(self, checked: Draft, batch: Span | None = None) -> Submission:
        spans = submit_spans()
        if spans is None:
            return self._built(checked)
        with spans.create(checked.spec.lane or self._queue, self._store.address()) as span:
            if batch is not None:
                batch.add_link(span.get_span_context())
            one = self._built(checked)
            spans.about(span, one)
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
    """A call that runs in a task group. `answered` raises the error of the call itself, not an exception group that
    contains this error."""

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
    """Yield the items in order, in chunks. A chunk goes to the store in one call. `size`: computes the bytes of an
    item."""
    start = 0
    while start < len(items):
        end, total = start + 1, size(items[start])
        while end < min(start + CHUNK, len(items)) and (total := total + size(items[end])) <= CHUNK_BYTES:
            end += 1
        yield items[start:end]
        start = end


@contextmanager
def _counting(answers: Sequence[Receipt], count: int) -> Generator[None]:
    """Add a note to a StoreError of the block: how many tasks were accepted before the error."""
    try:
        yield
    except StoreError as error:
        _add_count(error, len(answers), count)
        raise


def _add_count(error: StoreError, accepted: int, count: int) -> None:
    error.add_note(f"{accepted} of {count} tasks were accepted before this error")


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
