"""MetricSender sends metrics to the collector from a thread: whoever offers them never waits.

It keeps one set of metrics: a newer one takes the place of one that a slow collector has not taken yet, as it holds the
same counters, further on.
"""

from __future__ import annotations

import logging
import os
from threading import Event, Thread

from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData

from holdfast.telemetry.metric_deltas import MetricDeltas
from holdfast.telemetry.providers import SHUTDOWN_SECONDS

_OWN_ENDPOINT = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"  # the standard's, for this signal alone

_log = logging.getLogger(__name__)


class MetricSender:
    """`deltas`: metrics are sent as deltas; None: as they are."""

    def __init__(self, exporter: MetricExporter, deltas: MetricDeltas | None = None) -> None:
        self._exporter = exporter
        self._deltas = deltas
        self._newest: MetricsData | None = None
        self._wanted = Event()
        self._ends = False
        self._thread = Thread(target=self._run, name="metrics over OTLP", daemon=True)
        self._thread.start()

    @classmethod
    def towards(cls, endpoint: str, *, grpc: bool) -> MetricSender:
        """Sends to the collector at `endpoint`."""
        return cls(_grpc(endpoint) if grpc else _http(endpoint), MetricDeltas.preferred())

    def offer(self, metrics: MetricsData) -> None:
        self._newest = metrics
        self._wanted.set()

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Send what was offered last; returns within `seconds`."""
        self._ends = True
        self._wanted.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._ends:
            self._wanted.wait()
            self._wanted.clear()
            metrics, self._newest = self._newest, None
            if metrics is not None:
                self._send(metrics)
        if (last := self._newest) is not None:
            self._send(last)

    def _send(self, metrics: MetricsData) -> None:
        try:
            given = metrics if self._deltas is None else self._deltas.since_taken(metrics)
            result = self._exporter.export(given)  # pyright: ignore[reportUnknownMemberType]  # **kwargs without a type
            if self._deltas is not None and result is MetricExportResult.SUCCESS:
                self._deltas.taken()
        except Exception:
            _log.exception("metrics could not be sent to the collector")


def _http(endpoint: str) -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(os.environ.get(_OWN_ENDPOINT) or f"{endpoint.rstrip('/')}/v1/metrics")


def _grpc(endpoint: str) -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(os.environ.get(_OWN_ENDPOINT) or endpoint)
