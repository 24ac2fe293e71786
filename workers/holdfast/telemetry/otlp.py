"""Telemetry through the OpenTelemetry SDK. Imported only where an endpoint is set: it costs 23 MB, with gRPC 40."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.delivery import Delivery
from holdfast.telemetry.fire_tracer import FireTracer
from holdfast.telemetry.providers import Providers
from holdfast.telemetry.task_tracer import TaskTracer

if TYPE_CHECKING:
    from holdfast.handler.task import Task
    from holdfast.telemetry import Tracing
    from holdfast.telemetry.delivery_span import DeliverySpan
    from holdfast.telemetry.lost_run import LostRun


class OtlpTelemetry:
    def __init__(self, providers: Providers, tracing: Tracing) -> None:
        self._providers = providers
        tracers = providers.spans.tracers
        self._tracer = TaskTracer(tracers, tracing)
        self._fires = FireTracer(tracers, tracing.server)

    @property
    def traces(self) -> bool:
        return True

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> DeliverySpan:
        return self._tracer.delivery(delivery, task, handler)

    @property
    def fires(self) -> FireTracer:
        return self._fires

    def lost(self, run: LostRun) -> None:
        self._tracer.lost(run)

    def shutdown(self) -> None:
        self._providers.shutdown()
