"""Sends the log records of a process to the collector, if an endpoint is set. A process opens this after the fork."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

from holdfast_config import library_log
from holdfast_config.standard_error import set_sink

SHUTDOWN_SECONDS = 2.0
LAST_LINES = 0.1  # seconds kept for the last lines if the flush has used up all other time

_log = library_log.get_logger("holdfast.telemetry")


@dataclass(slots=True)
class SentLogs:
    """The sending of a process's log records. `left`: seconds that the process may still wait for the collector at its
    end. `relay` takes records of another process."""

    flush: Callable[[], object] | None = None
    shutdown: Callable[[], object] | None = None
    relay: Callable[[Mapping[str, Any]], object] = lambda _: None
    left: float = SHUTDOWN_SECONDS

    def flush_beside(self, *ends: Callable[[], object]) -> None:
        """Send the waiting records while the functions `ends` run. Waits for them until `left` is over."""
        started = time.monotonic()
        within(self.left, self.flush, *ends)
        self.left = max(LAST_LINES, self.left - (time.monotonic() - started))

    def close(self) -> None:
        set_sink(None)
        within(self.left, self.shutdown)


def is_wanted(signal: str) -> bool:
    """False if OTEL_METRICS_EXPORTER or OTEL_LOGS_EXPORTER is `none`. `signal`: METRICS or LOGS."""
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() != "none"


@contextmanager
def sent_logs(endpoint: str | None, service: str, *, grpc: bool) -> Generator[SentLogs]:
    """Send log records while the block runs. At the end of the block, sending the rest takes 2 s at most."""
    logs = _opened(endpoint, service, grpc=grpc) if endpoint and is_wanted("LOGS") else SentLogs()
    try:
        yield logs
    finally:
        logs.close()


def _opened(endpoint: str, service: str, *, grpc: bool) -> SentLogs:
    try:
        from holdfast.telemetry.log_sender import LogSender

        sender = LogSender.towards(endpoint, service, grpc=grpc)
    except (ImportError, TypeError) as error:  # an SDK with another logs API, which is not stable yet
        _log.warning("this version of opentelemetry-sdk cannot send logs", error=str(error))
        return SentLogs()
    set_sink(sender.send)
    return SentLogs(sender.flush, sender.shutdown, sender.relay)


def within(seconds: float, *ends: Callable[[], object] | None) -> None:
    """Run functions at the same time, in threads. Wait until all have returned, but at most `seconds`."""
    deadline = time.monotonic() + seconds
    threads = [Thread(target=end, daemon=True) for end in ends if end is not None]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
