"""The interface through which workers and stewards report telemetry, telemetry that is off, and how a process opens
what its settings say. Nothing of OpenTelemetry is imported where nothing is sent.
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
    """The span of one delivery. It is sent when the store has the outcome. If the worker dies before that, the steward
    reports the run as lost. This one is sent nowhere: it is called for every delivery, and does nothing."""

    __slots__ = ()

    @property
    def traceparent(self) -> str:
        """The `traceparent` header of this span; empty if Holdfast sends no spans."""
        return ""

    def inside(self) -> Self:
        """A context manager around the run of the handler; the handler's spans become children of this one."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        """The handler ended with this outcome; `report` is to be sent to the store, if there is anything to report."""

    def settled(self, verdict: Verdict | None) -> None:
        """Note the store's answer to the report; None: nothing was reported."""


_NOT_SENT = Span()


class FireSpans(Protocol):
    """The spans of fires, in which schedules make tasks. Several processes may prepare a fire; its span has the same id
    in all of them, and the process that makes the fire sends it."""

    def names(self, task_id: str) -> tuple[str, str, str]:
        """The trace, the span and the flags for the envelope of this task."""
        ...

    def fired(self, schedule_id: str, fire: Fire) -> None: ...


class Telemetry:
    """One process's telemetry. No call waits for the collector, and none raises because it is away. This one is off and
    sends nothing. `traces`: spans are made; `fires`: the spans of fires, if spans are made."""

    traces = False
    fires: FireSpans | None = None

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> Span:
        """The span of one run of `handler`. It links or belongs to the producer's span, if the envelope names one."""
        return _NOT_SENT

    def lost(self, run: LostRun) -> None:
        """Report a run whose worker was lost."""

    def shutdown(self) -> None:
        """Send the rest; returns within 2 s even if the collector is away."""


# The spans of deliveries that have ended, until the store has answered their report.
#
# If the worker dies before, its spans are lost: the steward that recovers its tasks reports these runs as lost.

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
        """A function that sends the spans of these verdicts, then calls `following` with the verdicts."""

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
    """The address of a store without a server: None."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """`mode`: link or parent. `baggage`: the producer's baggage reaches the handler. `is_global`: our provider also
    sends spans that other code of this process makes; if the process already has a provider, that one is used.
    `server()`: the address of the store's server, for the spans."""

    mode: str = "link"
    baggage: bool = False
    is_global: bool = False
    server: Server = no_server


def open_in_worker(settings: Settings, server: Server) -> Telemetry:
    """Telemetry of a worker process, opened after the import of its handler: spans go through a provider that the
    handler's module has set, even where we have no collector."""
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
    """Telemetry of a worker inside an application. If we send nothing, the application's own telemetry still works."""
    if settings.otlp_endpoint is None:
        from holdfast.telemetry.without_sdk import ContextOnlyTelemetry

        return ContextOnlyTelemetry()
    return open_in_worker(settings, server)


def open_telemetry(
    endpoint: str | None, service: str, protocol: str = HTTP, tracing: Tracing | None = None
) -> Telemetry:
    """Telemetry of this process, to the collector at the URL `endpoint`; None: nothing is sent or loaded.

    `service` is its name there, unless OTEL_SERVICE_NAME gives another. `protocol`: the value of
    OTEL_EXPORTER_OTLP_PROTOCOL, `grpc` or anything else for http/protobuf.
    """
    if endpoint is None:
        return Telemetry()
    from holdfast.telemetry.providers import towards
    from holdfast.telemetry.task_tracer import OtlpTelemetry

    tracing = tracing or Tracing()
    return OtlpTelemetry(towards(endpoint, service, grpc=protocol == GRPC, is_global=tracing.is_global), tracing)


def _handler_traces() -> bool:
    """True if the handler's module has set a provider of spans. Imports nothing that the module has not imported."""
    if "opentelemetry.trace" not in sys.modules:
        return False
    from holdfast.telemetry.without_sdk import provider_in_use

    return provider_in_use() is not None
