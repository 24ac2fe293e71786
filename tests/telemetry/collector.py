"""A collector of the tests' own, on loopback: OTLP over HTTP, whose requests a test can wait for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE = 30.0  # seconds; reached only by a test that fails


@dataclass
class Collector:
    endpoint: str = ""
    traces: Queue[ExportTraceServiceRequest] = field(default_factory=Queue[ExportTraceServiceRequest])

    def span(self) -> Span:
        """The first span that arrives."""
        return self.spans(1)[0]

    def spans(self, count: int) -> list[Span]:
        """The first spans that arrive, all in one request."""
        spans = self.traces.get(timeout=PATIENCE).resource_spans[0].scope_spans[0].spans
        return list(spans)[:count]

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            self.traces.put(ExportTraceServiceRequest.FromString(body))


def attributes(pairs: Any) -> dict[str, object]:
    """Attributes as they were set."""
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> object:
    return getattr(pair.value, pair.value.WhichOneof("value") or "string_value")


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector that listens until the block ends."""
    collector = Collector()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(collector.take))
    collector.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(take: Callable[[str, bytes], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has there
            pass

    return Handler
