"""Serves the metrics of one steward."""

from __future__ import annotations

import socket
import time

import anyio

from holdfast.store.protocol import Store
from holdfastd.steward.duty import run_duty
from holdfastd.steward.health import Health
from holdfastd.steward.metrics.host import PoolHost, ProcessHost
from holdfastd.steward.metrics.pages import Pages
from holdfastd.steward.metrics.queue_report import QueueReport
from holdfastd.steward.metrics.reporter import Reporter
from holdfastd.steward.metrics.server import MetricsServer
from holdfastd.steward.spec import StewardSpec


async def serve_metrics(spec: StewardSpec, store: Store, health: Health, listener: socket.socket) -> None:
    """Serve until cancelled; then another steward may report the queue at once."""
    reporter = Reporter(store, time.monotonic)
    host = PoolHost(spec.settings.runtime_dir) if spec.has_pool else ProcessHost("steward")
    pages = Pages(store, host, reporter, QueueReport(store, spec.settings))
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run_duty, reporter.duty(), health)
            await MetricsServer(pages.respond).serve(listener)
    finally:
        await reporter.leave()
