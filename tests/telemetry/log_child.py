"""Writes log records, also sent over OTLP: `python -m tests.telemetry.log_child URL http/protobuf|grpc RECORDS`.

Prints the seconds that its end took, by its own clock.
"""

from __future__ import annotations

import logging
import sys

import structlog
from opentelemetry.sdk.trace import TracerProvider

from holdfast.telemetry.logs import sent_logs
from holdfast_config.logging import configure
from holdfast_config.secret_texts import hide
from tests.awake_clock import AwakeClock
from tests.telemetry.receiver_process import GRPC


def main(endpoint: str, protocol: str, records: str) -> None:
    configure("info", "json")
    log = structlog.get_logger("child")
    log.info("before")
    with sent_logs(endpoint, "child", grpc=protocol == GRPC):
        write(log, int(records))
        clock = AwakeClock()
    print(clock.seconds, flush=True)
    log.info("after")


def write(log: structlog.stdlib.BoundLogger, records: int) -> None:
    log.debug("too detailed")
    with TracerProvider(shutdown_on_exit=False).get_tracer("child").start_as_current_span("a span") as span:
        log.warning("within", lane="q", depth=3, late=True, names=["a"], span=f"{span.get_span_context().span_id:016x}")
    hide(["planted"])
    log.warning("planted as text", url="redis://user:word@host/0", password="planted", deep={"a": "planted"})
    log.error("of another span", trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")
    try:
        raise ValueError("wrong")
    except ValueError:
        log.exception("failed")
    logging.getLogger("library").warning("a library's %s", "warning")
    logging.getLogger("opentelemetry.exporter").warning("the collector is away")
    for number in range(records):
        log.info(f"record {number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
