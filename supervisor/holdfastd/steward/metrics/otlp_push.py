"""Pushes the metrics to the collector, at the interval of OTEL_METRIC_EXPORT_INTERVAL."""

from __future__ import annotations

import os

import anyio
import anyio.to_thread
import structlog

from holdfast.telemetry import GRPC
from holdfast.telemetry.metric_sender import MetricSender
from holdfast.telemetry.readings import Readings
from holdfast.telemetry.resource import resource
from holdfast_config import Settings
from holdfastd.steward.duty import Duty
from holdfastd.steward.metrics.metrics_reader import MetricsReader
from holdfastd.steward.metrics.otlp_exposition import OtlpExposition

INTERVAL_VARIABLE = "OTEL_METRIC_EXPORT_INTERVAL"  # milliseconds
DEFAULT_INTERVAL = 60.0  # seconds, as the standard has it
SHORTEST_INTERVAL = 1.0  # seconds
LAST_READING = 1.0  # seconds

_log = structlog.get_logger("holdfast.steward")


class OtlpPush:
    def __init__(self, reader: MetricsReader, exposition: OtlpExposition, sender: MetricSender, every: float) -> None:
        self._reader = reader
        self._exposition = exposition
        self._sender = sender
        self._every = every

    @classmethod
    def towards(cls, endpoint: str, settings: Settings, reader: MetricsReader) -> OtlpPush:
        sender = MetricSender.towards(endpoint, grpc=settings.otlp_protocol == GRPC)
        return cls(reader, OtlpExposition(resource("holdfast-steward")), sender, interval())

    def duty(self) -> Duty:
        return Duty("metrics over OTLP", self.push)

    async def push(self) -> float:
        self._offer(await self._reader.read())
        return self._every

    async def leave(self) -> None:
        """Send the last values."""
        with anyio.move_on_after(LAST_READING, shield=True):
            self._offer(await self._reader.read(fresh=0))
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._sender.shutdown)

    def _offer(self, readings: Readings) -> None:
        self._sender.offer(self._exposition.metrics_data(readings))


def interval() -> float:
    """Seconds from one push to the next."""
    text = os.environ.get(INTERVAL_VARIABLE, "")
    try:
        return max(SHORTEST_INTERVAL, float(text) / 1000) if text else DEFAULT_INTERVAL
    except ValueError:
        _log.warning(
            "a variable is not a number of milliseconds; metrics are sent every minute", variable=INTERVAL_VARIABLE
        )
        return DEFAULT_INTERVAL
