"""Exports the metrics of one steward: to those who scrape it, and to the collector."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

import anyio

from holdfast.store.protocol import Store
from holdfast.telemetry.logs import is_wanted
from holdfastd.steward.duty import run_duty
from holdfastd.steward.health import Health
from holdfastd.steward.metrics.host import Host, PoolHost, ProcessHost
from holdfastd.steward.metrics.metrics_reader import MetricsReader
from holdfastd.steward.metrics.pages import Pages
from holdfastd.steward.metrics.queue_report import QueueReport
from holdfastd.steward.metrics.reporter import Reporter
from holdfastd.steward.metrics.server import MetricsServer
from holdfastd.steward.spec import StewardSpec


async def export_metrics(spec: StewardSpec, store: Store, health: Health, recovered: Mapping[str, int]) -> None:
    """Export until cancelled; then another steward may report the queue at once. `recovered`: tasks that this steward
    put back, by the cause of their worker's end."""
    reporter = Reporter(store, time.monotonic)
    host = PoolHost(spec.settings.runtime_dir) if spec.has_pool else ProcessHost("steward")
    reader = MetricsReader(store, host, reporter, QueueReport(store, spec.settings), recovered)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run_duty, reporter.duty(), health)
            if spec.metrics is not None:
                group.start_soon(_serve, spec.metrics, store, host, reader)
            if spec.settings.otlp_endpoint is not None and is_wanted("METRICS"):
                group.start_soon(_push, spec.settings.otlp_endpoint, spec, reader, health)
    finally:
        await reporter.leave()


async def _serve(listener: socket.socket, store: Store, host: Host, reader: MetricsReader) -> None:
    await MetricsServer(Pages(store, host, reader).respond).serve(listener)


async def _push(endpoint: str, spec: StewardSpec, reader: MetricsReader, health: Health) -> None:
    from holdfastd.steward.metrics.otlp_push import OtlpPush  # imports OpenTelemetry

    push = OtlpPush.towards(endpoint, spec.settings, reader)
    try:
        await run_duty(push.duty(), health)
    finally:
        await push.leave()
