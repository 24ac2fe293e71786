"""Makes the store's value from a task spec, and errors from the store's answers."""

from __future__ import annotations

from collections.abc import Sequence
from os import urandom
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from holdfast.client.arguments import check
from holdfast.client.option_checks import checked_options, ms, unix_ms
from holdfast.client.submit_trace import ProducerTrace, current_trace
from holdfast.client.task_spec import TaskSpec
from holdfast.core.envelope import build_parts, build_run_of, encode_message
from holdfast.core.identity import keyed_id, uuid_text
from holdfast.core.plain_json import shown
from holdfast.core.submit_options import SubmitOptions
from holdfast.core.tasks import Accepted, Receipt, Submission
from holdfast.errors import (
    BatchClosedError,
    BatchConflictError,
    HoldfastError,
    InvalidTaskError,
    LaneTypeError,
    MessageConflictError,
    StoreRefusedError,
    TaskEndedError,
    TooManyMessagesError,
    UnknownTaskError,
)

if TYPE_CHECKING:
    from holdfast.handler.registry import Handlers


AROUND = 32768  # bytes of an operation around its message, at most: ids of up to 1,000 characters, baggage of 4 KB


class Draft(NamedTuple):
    """A task that was checked and can be submitted."""

    spec: TaskSpec
    message: bytes
    options: SubmitOptions | None


def submission(spec: TaskSpec, queue: str, max_bytes: int, trace: ProducerTrace | None = None) -> Submission:
    """The submission for `spec`; raises InvalidTaskError. To try again after an error, submit this same value again."""
    return built(draft(spec, queue, max_bytes), queue, max_bytes, trace)


def draft(spec: TaskSpec, queue: str, max_bytes: int) -> Draft:
    """Check `spec`, with the size of its operation; raises InvalidTaskError."""
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
    """The submission for a draft, with new ids where it has none; raises InvalidTaskError if it is too large.

    Without `trace` the task is submitted in the current span; `baggage`: that of the current OpenTelemetry context goes
    along.
    """
    spec = checked.spec
    keyed = keyed_id(queue, spec.key) if spec.key is not None else None
    task_id = spec.task_id or keyed or uuid_text(urandom(16), 4)
    trace = trace or current_trace(with_baggage=baggage)
    run = build_run_of(
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


def registered(spec: TaskSpec, handlers: Handlers[Any, Any]) -> TaskSpec:
    """The task of a named handler with its lane from the registry, its arguments checked. Raises InvalidTaskError."""
    check(spec)
    if spec.name is None:
        return spec
    known = handlers.named()
    if spec.name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise InvalidTaskError(f"name {shown(spec.name)}: no such handler; registered: {names}"[:500])
    one = known[spec.name]
    try:
        one.signature.fit(spec.kwargs or {})
    except ValueError as misfit:
        raise InvalidTaskError(f"{spec.name}: {misfit}"[:1000]) from None
    return replace(spec, lane=spec.lane or one.options.lane)


def raise_refusals(batch: Sequence[Submission], answers: Sequence[Receipt]) -> None:
    """Raise for the first submission that the store refused; all others were accepted."""
    for one, answer in zip(batch, answers, strict=True):
        if error := refusal(one, answer):
            raise error


def refusal(one: Submission, answer: Receipt) -> HoldfastError | None:
    match answer.accepted:
        case Accepted.NEW | Accepted.TURN | Accepted.PENDING | Accepted.DUPLICATE:
            return None
        case Accepted.CONFLICT:
            text = f"message {one.message_id} of task {one.task_id} was sent before with other content"
            return MessageConflictError(f"{text}; give new content a new message_id")
        case Accepted.TERMINAL:
            return TaskEndedError(f"task {one.task_id} has ended and takes no more messages; submit a new task")
        case Accepted.FULL:
            text = f"as many messages wait for task {one.task_id} as may (max_pending_messages of the supervisor)"
            return TooManyMessagesError(f"{text}; send it again when some have had their turn")
        case Accepted.UNKNOWN:
            return UnknownTaskError(f"no task {one.task_id}; one that ended long ago is forgotten")
        case Accepted.NO_PARENT:
            text = f"task {answer.task_id}, after which {one.task_id} is to run, is not known"
            return UnknownTaskError(f"{text}; submit it first, one that ended long ago is forgotten")
        case Accepted.NO_LIST:
            key = f"key {one.lane}" if ":" in one.lane else f"key, which ends in }}:lane:{one.lane},"
            text = f"lane {shown(one.lane)}: its {key} holds something else than a list"
            return LaneTypeError(f"{text}; rename it (RENAME), or name another lane")
        case word:
            return _refused_by_others(one, word, answer.task_id)


def _refused_by_others(one: Submission, word: Accepted, flaw: str) -> HoldfastError:
    """The error of a task that cannot be tied to others: to those of its batch, or because of a flaw there."""
    if word is Accepted.DAMAGED:
        text = f"task {one.task_id} is not accepted, as it could not be tied to others: {flaw}"
        return StoreRefusedError(f"{text}; somebody else has changed that in Redis: mend, rename or delete it")
    batch = one.options.batch.batch if one.options and one.options.batch else ""
    if word is Accepted.OTHER_BATCH:
        text = f"batch {batch} was submitted before with other tasks"
        return BatchConflictError(f"{text}; give these tasks a new batch id")
    if word is Accepted.TAKEN:
        text = f"task {one.task_id} is there already and is not of batch {batch}, which stays open without it"
        return BatchConflictError(f"{text}; `supervisor batches cancel {batch}` ends the batch")
    text = f"batch {batch} was sealed or canceled by an operator before task {one.task_id} came"
    return BatchClosedError(f"{text}; submit the tasks that are missing as another batch")
