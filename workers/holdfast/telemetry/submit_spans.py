"""Spans of a producer. A single submit has one span `send`. A list has one span `send` around all, and a span `create`
for each task.

The spans follow OpenTelemetry's messaging conventions. The application's tracer makes them, if it has one.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache

from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider

from holdfast.core.acceptance import Submission
from holdfast.core.store_info import ServerAddress
from holdfast.telemetry import semantic_names
from holdfast.telemetry.without_sdk import provider_in_use
from holdfast.version import installed


class SubmitSpans:
    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer(semantic_names.HOLDFAST, installed(), semantic_names.SCHEMA_URL)

    def send(self, lane: str, server: ServerAddress | None) -> AbstractContextManager[Span]:
        """A context manager around the submit of one task to `lane`. `server`: the store's server, if known."""
        return self._started(semantic_names.SEND, SpanKind.PRODUCER, lane, server)

    def create(self, lane: str, server: ServerAddress | None) -> AbstractContextManager[Span]:
        """A context manager around the building of one task of a list. The list's span `send` gets a link to this
        one."""
        return self._started(semantic_names.CREATE, SpanKind.PRODUCER, lane, server)

    @contextmanager
    def send_batch(self, count: int, lanes: Collection[str], server: ServerAddress | None) -> Generator[Span]:
        """A context manager around the submit of a list. The span names the lane if all tasks have the same one."""
        lane = next(iter(lanes)) if len(lanes) == 1 else ""
        with self._started(semantic_names.SEND, SpanKind.CLIENT, lane, server) as span:
            span.set_attribute(semantic_names.BATCH_COUNT, count)
            yield span

    @staticmethod
    def about(span: Span, submission: Submission) -> None:
        """Add the task's id, the message's id and the size of the operation to the span."""
        if span.is_recording():
            span.set_attribute(semantic_names.TASK_ID, submission.task_id)
            span.set_attribute(semantic_names.MESSAGE_ID, submission.message_id)
            span.set_attribute(semantic_names.ENVELOPE_SIZE, len(submission.operation))

    @contextmanager
    def _started(self, operation: str, kind: SpanKind, lane: str, server: ServerAddress | None) -> Generator[Span]:
        with self._tracer.start_as_current_span(
            f"{operation} {lane}".rstrip(),
            kind=kind,
            attributes=semantic_names.of_operation(operation, lane) | semantic_names.of_server(server),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute(semantic_names.ERROR_TYPE, type(error).__qualname__)
                span.set_status(StatusCode.ERROR)
                raise


@lru_cache(maxsize=1)
def _spans_of(provider: TracerProvider) -> SubmitSpans:
    return SubmitSpans(provider)


def of_application() -> SubmitSpans | None:
    """The spans of submits through the application's provider; None if it has set none."""
    provider = provider_in_use()
    return None if provider is None else _spans_of(provider)
