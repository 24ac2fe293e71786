"""The interface through which workers and stewards report telemetry, an implementation that sends nothing, and the
functions that open telemetry by the settings. A process that sends nothing does not import OpenTelemetry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from holdfast.core.delivery import Delivery, Settlement, Verdict
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from typing import Self

    from holdfast.core.schedule_records import Fire
    from holdfast.core.store_info import ServerAddress
    from holdfast.handler.task import Task
    from holdfast.telemetry.runs import LostRun
    from holdfast_config import Settings


class Span:
    """The span of one delivery. A worker sends the span when the store has the outcome. If the worker dies before that,
    the steward reports the run as lost. This base class does nothing; it serves where no spans are sent."""

    __slots__ = ()

    @property
    def traceparent(self) -> str:
        """The `traceparent` header of this span; empty if Holdfast sends no spans."""
        return ""

    def inside(self) -> Self:
        """A context manager around the run of the handler. Spans that the handler makes become children of this
        span."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        """Record that the handler has ended with this outcome. `report`: the settlement for the store; None if there is
        nothing to report."""

    def settled(self, verdict: Verdict | None) -> None:
        """Send the span. `verdict`: the store's answer to the report; None if nothing was reported."""


_NOT_SENT = Span()


class FireSpans(Protocol):
    """Makes the spans for tasks that schedules create. Several processes may prepare the same task. The task's span has
    the same id in all of them, and only the process that creates the task sends the span."""

    def names(self, task_id: str) -> tuple[str, str, str]:
        """The ids of the trace and the span, and the flags, for the envelope of this task; all in hexadecimal."""
        ...

    def fired(self, schedule_id: str, fire: Fire) -> None: ...


class Telemetry:
    """The telemetry of a process. No call waits for the collector, or raises because the collector is away. This base
    class sends nothing. `traces`: whether spans are made. `fires`: makes the spans for tasks of schedules; None if no
    spans are made."""

    traces = False
    fires: FireSpans | None = None

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> Span:
        """The span of one run of `handler`. If the envelope names the producer's span, the new span is its child or has
        a link to it."""
        return _NOT_SENT

    def lost(self, run: LostRun) -> None:
        """Report a run whose worker was lost."""

    def shutdown(self) -> None:
        """Send the waiting spans. Returns within 2 s, even if the collector is away."""


# The spans of ended deliveries, kept until the store has answered the report of their outcome.
#
# If the worker dies before that, these spans are gone. The steward that recovers its tasks reports these runs as lost.

OnVerdict = Callable[[Settlement, Verdict], None]


@dataclass(slots=True)
class UnsettledSpans:
    _spans: dict[tuple[str, str], Span] = field(default_factory=dict[tuple[str, str], Span])  # by task and claim

    def add(self, report: Settlement | None, span: Span) -> None:
        """Keep a span. `report`: the settlement on its way to the store; None if nothing is reported."""
        if report is None:
            span.settled(None)
        else:
            self._spans[report.task_id, report.claim] = span

    def before(self, following: OnVerdict) -> OnVerdict:
        """A function that takes a verdict, sends the span that waited for it, and then calls `following` with it."""

        def take(settlement: Settlement, verdict: Verdict) -> None:
            span = self._spans.pop((settlement.task_id, settlement.claim), None)
            if span is not None:
                span.settled(verdict)
            following(settlement, verdict)

        return take


HTTP = "http/protobuf"
GRPC = "grpc"


Server = Callable[[], "ServerAddress | None"]


def no_server() -> None:
    """Return None: the address of a store without a server."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """How a process makes spans. `mode`: link or parent. `baggage`: the handler gets the producer's baggage.
    `is_global`: Holdfast's provider becomes the global one of the process, and also sends the spans of other code. If a
    global provider is set already, that one is used instead. `server()`: the address of the store's server, for the
    spans."""

    mode: str = "link"
    baggage: bool = False
    is_global: bool = False
    server: Server = no_server


def open_in_worker(settings: Settings, server: Server) -> Telemetry:
    """The telemetry of a worker process, opened after the import of its handler. If the handler's module has set a
    provider of spans, Holdfast's spans go through this provider, even without an endpoint in the settings."""
    tracing = Tracing(settings.trace_mode, settings.trace_baggage, is_global=True, server=server)
    if settings.otlp_endpoint is None and _handler_traces():
        from holdfast.telemetry.providers import given
        from holdfast.telemetry.task_tracer import OtlpTelemetry

        return OtlpTelemetry(given(), tracing)
    return open_telemetry(settings.otlp_endpoint, "holdfast-worker", settings.otlp_protocol, tracing)


def open_in_steward(settings: Settings, server: Server) -> Telemetry:
    tracing = Tracing(settings.trace_mode, server=server)
    return open_telemetry(settings.otlp_endpoint, "holdfast-steward", settings.otlp_protocol, tracing)


def open_inside(settings: Settings, server: Server) -> Telemetry:
    """The telemetry of a worker inside an application. Without an endpoint Holdfast sends no spans, but the spans of a
    handler still belong to the producer's span."""
    if settings.otlp_endpoint is None:
        from holdfast.telemetry.without_sdk import ContextOnlyTelemetry

        return ContextOnlyTelemetry()
    return open_in_worker(settings, server)


def open_telemetry(
    endpoint: str | None, service: str, protocol: str = HTTP, tracing: Tracing | None = None
) -> Telemetry:
    """Telemetry of this process, to the collector at the URL `endpoint`. None: nothing is sent, and OpenTelemetry is
    not imported.

    `service`: the service name of this process, unless OTEL_SERVICE_NAME gives another. `protocol`: `grpc`; any other
    value means http/protobuf.
    """
    if endpoint is None:
        return Telemetry()
    from holdfast.telemetry.providers import towards
    from holdfast.telemetry.task_tracer import OtlpTelemetry

    tracing = tracing or Tracing()
    return OtlpTelemetry(towards(endpoint, service, grpc=protocol == GRPC, is_global=tracing.is_global), tracing)


def _handler_traces() -> bool:
    """True if the handler's module has set a provider of spans. Does not import OpenTelemetry if no other module
    has."""
    if "opentelemetry.trace" not in sys.modules:
        return False
    from holdfast.telemetry.without_sdk import provider_in_use

    return provider_in_use() is not None
