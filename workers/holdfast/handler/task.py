"""The task as its handler sees it; safe to use from any thread. The worker reads the notes of the task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Literal, NoReturn, ParamSpec, Protocol, TypeVar, overload

import anyio
import msgspec
import structlog
from msgspec.structs import replace

from holdfast.core.batches import DeliveredBatch
from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import ParentResult, value_of
from holdfast.core.progress import line_of, line_of_value
from holdfast.errors import ForkedProcessError
from holdfast.handler.pauses import Pauses, milliseconds
from holdfast.handler.run_notes import PartLog, RunNotes, part_to_json, require_handler_thread
from holdfast.handler.task_steps import StepLog, Steps
from holdfast.handler.turn import as_traced, is_resumed, is_whole, lacks_messages, read_turn, turn_before
from holdfast.os.loop_threads import on_loop
from holdfast_config import library_log

P = ParamSpec("P")
T = TypeVar("T")

NO_PARENTS: Mapping[str, ParentResult] = MappingProxyType({})

_decode = msgspec.json.Decoder().decode


class SpanAround(Protocol):
    """The OpenTelemetry span around a delivery, as far as a task needs it."""

    @property
    def traceparent(self) -> str: ...


class Task:
    """One delivery of one turn of a task.

    `run` counts the runs of the task, from 1. `delivery` counts hand-overs, also those that were given back before they
    had begun. `attempts`: earlier runs of this turn that ended in an exception. `parents`: the tasks in `after`, by id
    and in order, with state, value and error of each. `deadline`: the moment of `time.monotonic()` at which the handler
    is cancelled; None: there is no limit.
    """

    __slots__ = (
        "_delivery",
        "_max_bytes",
        "_pauses",
        "_steps",
        "deadline",
        "limit",
        "notes",
        "operation",
        "parents",
        "part_log",
        "parts",
        "runner",
        "span",
        "step_log",
        "unreadable",
    )

    def __init__(self, delivery: Delivery, max_bytes: int = 1048576) -> None:
        """Make the task; the worker does this, and reads the handler's `notes`. If the operation cannot be read,
        `unreadable` has the reason and the rest is empty. `max_bytes`: the largest size of the operation, of a
        checkpoint and of a result."""
        self._max_bytes = max_bytes
        self.deadline: float | None = None
        self.limit: anyio.CancelScope | None = None  # set with the deadline
        self.span: SpanAround | None = None  # set by telemetry
        self.step_log: Callable[[Delivery], StepLog] | None = None  # set by the worker
        self.runner: asyncio.Task[None] | None = None  # set by the worker: it calls the handler
        self._steps: Steps | None = None
        self.parents: Mapping[str, ParentResult] = NO_PARENTS  # set by the worker
        self._pauses: Pauses | None = None
        self.part_log: Callable[[Delivery], PartLog] | None = None  # set by the worker
        self.parts: PartLog | None = None  # once the handler has emitted one
        self.notes = RunNotes(max_bytes)
        self.take(delivery)

    def take(self, delivery: Delivery) -> None:
        """Replace the delivery by the same delivery with more of its history. All messages of the turn then form the
        task's operation."""
        self._delivery = delivery
        self.operation, self.unreadable = read_turn(delivery, self._max_bytes)

    def go_on(self, asked: Delivery) -> None:
        """Record that this turn answers a question. The handler then gets the operation of the turn that asked the
        question (`asked`)."""
        operation, self.unreadable = read_turn(asked, self._max_bytes)
        self.operation = as_traced(operation, self.operation)

    def asked_in(self) -> Awaitable[frozenset[int]]:
        """The turns in which the handler has asked questions."""
        return self._of_this_run().asked_in()

    def answer(self) -> object:
        """The content of this turn's messages: a text or a JSON value, a list of several; None if the task was resumed
        without a message."""
        if is_resumed(self._delivery):
            return None
        operation, _ = read_turn(self._delivery, self._max_bytes)
        return value_of(part for message in operation.messages for part in message["parts"])

    @property
    def id(self) -> str:
        return self._delivery.task_id

    @property
    def context_id(self) -> str:
        """The conversation that the task belongs to; its own id if the producer named none."""
        return self.operation.context_id or self.id

    @property
    def turn(self) -> int:
        """The number of the turn: the place of its last message among all messages of the task, from 1."""
        return self._delivery.turn

    @property
    def delivery(self) -> int:
        return self._delivery.delivery

    @property
    def run(self) -> int:
        return self._delivery.run

    @property
    def attempts(self) -> int:
        return self._delivery.attempts

    @property
    def batch(self) -> DeliveredBatch:
        """The batch of the task (`id`, `place`). The callback of a batch also has `counts`: how many tasks of the batch
        have ended in each way. For a task in no batch, this value is false and its `id` is empty."""
        return self._delivery.batch

    @property
    def idempotency_key(self) -> str:
        """A key that is the same in every delivery of this turn with the same messages, and in no other. Pass it to
        services that must not act twice."""
        return f"{self.id}:{self.turn}"

    @property
    def name(self) -> str | None:
        """The registered name that the turn's messages call."""
        return self.operation.name

    @property
    def raw(self) -> bytes:
        """The operation as its producer wrote it. If messages have joined the turn, this is the operation of the last
        message."""
        return self._delivery.operation

    @property
    def metadata(self) -> dict[str, Any]:
        return self.operation.metadata

    @property
    def trace_id(self) -> str | None:
        """The id of the producer's trace, 32 hex digits."""
        return self.operation.trace_id

    @property
    def span_id(self) -> str | None:
        """The id of the producer's span, 16 hex digits."""
        return self.operation.span_id

    @property
    def traceparent(self) -> str | None:
        """The W3C traceparent that the handler's own calls should send; None if there is no trace."""
        if self.span is None and self.trace_id is not None and self.span_id is not None:
            flags = self.operation.trace_flags
            return f"00-{self.trace_id}-{self.span_id}-{1 if flags is None else flags:02x}"
        return None if self.span is None else self.span.traceparent

    @property
    def logger(self) -> structlog.typing.FilteringBoundLogger:
        """A logger that names the task in every line."""
        logger: structlog.typing.FilteringBoundLogger = library_log.get_logger("holdfast.task")
        return logger.bind(**self.log_fields())

    def log_fields(self) -> dict[str, object]:
        """The fields of log lines that identify the task."""
        around = self.traceparent
        trace_id, span_id = around.split("-")[1:3] if around else (self.trace_id, self.span_id)
        fields = {
            "task": self.id,
            "turn": self.turn,
            "delivery": self.delivery,
            "lane": self._delivery.lane,
            "handler": self.name,
            "worker": self._delivery.incarnation,
            "trace_id": trace_id,
            "span_id": span_id,
        }
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def cancelled(self) -> bool:
        """True if the handler should stop: it was cancelled, paused, drained, or is out of time. Async handlers are
        interrupted; a handler in a thread has to check this."""
        return self.notes.cancelled

    @property
    def last_checkpoint(self) -> Any:
        """The last checkpoint that this delivery or an earlier one of the task has made; None if there is none."""
        encoded = self.notes.checkpoint or self._delivery.checkpoint
        return _decode(encoded) if encoded else None

    def checkpoint(self, data: object) -> None:
        """Keep `data`, a JSON value, for the next delivery. The worker sends it with the next settlement or renewal.
        Raises NotJsonError, a ValueError, if it is no JSON or too large."""
        self.notes.keep_checkpoint(data)

    @overload
    async def step(self, name: str, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    async def step(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def step(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `function` once for this task. Its result is recorded as JSON before this returns; later runs and turns
        of the task get the result without a call. A function that is no coroutine runs in a thread.

        The value is the result read back from JSON. An exception is not recorded. If the worker dies between the call
        and the record, the next run calls the function again. Raises StepMismatchError if another step is recorded at
        this place, StepError if the result cannot be recorded.
        """
        return await self._of_this_run().run(name, function, args, kwargs)

    def step_sync(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `step`, for a handler that is a plain function; `function` is called in the handler's thread."""
        value: T = self._of_this_run().run_in_thread(name, function, args, kwargs)
        return value

    async def sleep(
        self, seconds: float | timedelta = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> None:
        """Sleep without a slot: this run ends here. When the time has passed, the task runs again, gets its recorded
        steps, and goes on behind this call. The times are added, up to a year. The end of the sleep is recorded as a
        step; then the run ends with RunEnded, which is no Exception. This counts neither as an attempt nor as a crash.
        For a sleep of at most a second, the handler itself waits. Raises StepMismatchError if another step is recorded
        at this place. Raises StepError for a time that is not allowed, or if another asyncio task than the handler's
        calls it."""
        await self._of_pauses().sleep(milliseconds(seconds, minutes, hours, days))

    def sleep_sync(
        self, seconds: float | timedelta = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> None:
        """Like `sleep`, for a handler that is a plain function."""
        self._of_pauses().sleep_in_thread(milliseconds(seconds, minutes, hours, days))

    async def question(self, text: str, *, state: Literal["input-required", "auth-required"] = "input-required") -> Any:
        """Ask a question and wait for the answer without a slot. The turn ends here as `state`, with `text` as its
        prompt. At the next message the task runs again with the same arguments and recorded steps, and goes on behind
        this call.

        The answer is the text or JSON value of that message, a list if it has several parts, None if the task was
        resumed without a message. Question and answer are recorded as two steps; the run ends with RunEnded, which is
        no Exception. Raises StepMismatchError if another step is recorded at this place. Raises StepError if the text
        is not allowed, or if another asyncio task than the handler's calls it.
        """
        return await self._of_pauses().ask(text, state)

    def question_sync(self, text: str, *, state: Literal["input-required", "auth-required"] = "input-required") -> Any:
        """Like `question`, for a handler that is a plain function."""
        return self._of_pauses().ask_in_thread(text, state)

    def _of_pauses(self) -> Pauses:
        if self._pauses is None:
            self._pauses = Pauses(self._of_this_run(), self.notes, self.turn, self.answer, lambda: self.runner)
        return self._pauses

    def _of_this_run(self) -> Steps:
        if self._steps is None:
            log = self.step_log(self._delivery) if self.step_log else StepLog()
            self._steps = Steps(log, self.notes, self._stopped)
        return self._steps

    def _stopped(self) -> bool:
        """True if the task is stopped or out of time. From then on, `cancelled` is True for the handler's thread,
        too."""
        if self.limit is not None and self.limit.cancel_called:
            self.notes.cancelled = True
        return self.notes.cancelled

    async def emit(self, value: object) -> None:
        """Send `value`, JSON of at most 64 KiB, to everybody who follows the task: `handle.stream()`,
        `manager.stream(task_id)`, `supervisor tasks follow`.

        A handler may emit the tokens of a model, hundreds a second: the worker sends parts together, at most every 50
        ms. The last 10,000 parts, at most 1 MiB, are kept with the task. Raises NotJsonError, a ValueError, if the
        value is no JSON or too large.
        """
        await self._part_log().emit(part_to_json(value))

    def emit_sync(self, value: object) -> None:
        """Like `emit`, for a handler that is a plain function."""
        encoded = part_to_json(value)
        require_handler_thread()
        on_loop(self._part_log().emit, encoded)

    def _part_log(self) -> PartLog:
        if self.parts is None:
            self.parts = self.part_log(self._delivery) if self.part_log else PartLog()
        return self.parts

    def progress(self, done: float | None = None, total: float | None = None, text: str = "") -> None:
        """Show how far the handler is: `done` of `total`, and a short text. A bar can be drawn of it.

        The page of the task, the API, `wait` and the command line show the progress within a quarter of a second. They
        keep the last progress after the task's end. A handler may call this thousands of times a second: the worker
        sends the latest progress of all its tasks together, at most every 100 ms. This never raises. Numbers that make
        no sense (NaN, negative, more than the total, a total of 0) are bounded or left out. A text is cut to 64 bytes.
        The log reports such a change once.
        """
        self._show(*line_of(done, total, text))

    def show(self, value: object) -> None:
        """Show a value that the handler, a generator, has yielded, as its progress."""
        self._show(*line_of_value(value))

    def _show(self, progress: str, remark: str) -> None:
        self.notes.progress = progress
        self._part_log().show(progress, remark)


# Reads messages from the store that the delivery does not carry. All messages of the turn are read first, because they
# say which handler runs. Earlier messages that the operation asks for are read before the handler is called.

ReadEarlier = Callable[[str, int], Awaitable[tuple[tuple[bytes, ...], int]]]  # as the store's `earlier`


async def with_turn(delivery: Delivery, task: Task, read_earlier: ReadEarlier) -> Delivery:
    """The delivery with all messages of its turn. If the turn answers a question, this is the delivery of the turn
    whose handler goes on: the one that asked the first of several questions."""
    while not task.unreadable and not is_whole(delivery):
        delivery = await _with_more(delivery, read_earlier)
        task.take(delivery)
    if task.unreadable or not delivery.has_steps:
        return delivery
    asked_in = await task.asked_in()
    while (asked := turn_before(delivery, asked_in)) is not None:
        while not is_whole(asked):
            asked = await _with_more(asked, read_earlier)
        delivery = asked
        task.go_on(delivery)
    return delivery


async def with_history(delivery: Delivery, task: Task, read_earlier: ReadEarlier) -> Delivery:
    """The delivery with all earlier messages that the operation asks for."""
    while not task.unreadable and lacks_messages(delivery, task.operation):
        delivery = await _with_more(delivery, read_earlier)
    return delivery


async def _with_more(delivery: Delivery, read_earlier: ReadEarlier) -> Delivery:
    found, earlier = await read_earlier(delivery.task_id, delivery.earlier)
    return replace(delivery, history=(*found, *delivery.history), earlier=earlier)


# The task in a process that its handler has forked. It can be read, but calls that need the worker are refused.


def become_copy(task: Task) -> None:
    """Change this object to the task of a forked process. The worker sends the parts emitted before the fork."""
    task.__class__ = TaskOfCopy
    task.parts = None


def _refusing(call: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ForkedProcessError(
            f"task.{call}: this process was forked by the handler, and only the worker can carry out this call: pass "
            f"your result to the handler (by a pipe, a queue or a pool), and call task.{call} there"
        )

    return refuse


class TaskOfCopy(Task):
    """The task in a process that a handler forked. Its calls raise ForkedProcessError, because the worker, and not the
    forked process, would get their answers."""

    __slots__ = ()

    step = step_sync = _refusing("step")
    sleep = sleep_sync = _refusing("sleep")
    question = question_sync = _refusing("question")
    emit = emit_sync = _refusing("emit")
    checkpoint = _refusing("checkpoint")
    progress = _refusing("progress")

    def show(self, value: object) -> None:
        """Do nothing: a generator in a forked process shows its progress to nobody."""
