"""A real OTLP receiver on loopback: http/protobuf or gRPC, in a process of its own. A test waits for what arrives.

    with receiving() as receiver:
        start(environ=receiver.environ)
        span = receiver.until(lambda: next((each for each in receiver.spans() if each.name == "process q"), None))

`become` changes how it behaves while it runs: it answers, hangs, refuses connections, or answers 500.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import IO, Any, NamedTuple, TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.telemetry.receiver_process import GRPC, HEADER, HTTP, Mode, Signal

__all__ = ["GRPC", "HTTP", "Mode", "Origin", "Received", "Receiver", "Signal", "attributes", "receiving"]

PATIENCE = 60.0  # seconds; reached only by a test that fails

T = TypeVar("T")


class Origin(NamedTuple):
    """The scope of a span, metric or log record, and the schemas of its resource and of its scope."""

    name: str
    version: str
    resource_schema: str
    scope_schema: str

    @classmethod
    def of(cls, group: Any, scope: Any) -> Origin:
        return cls(scope.scope.name, scope.scope.version, group.schema_url, scope.schema_url)


class Received(NamedTuple):
    """A span, metric or log record with the attributes of the process that sent it, as `item` of its protobuf."""

    resource: dict[str, Any]
    item: Any
    origin: Origin


@dataclass
class Receiver:
    """`requests`: how many came, by the mode they met. Those that met another mode than NORMAL are not kept."""

    process: subprocess.Popen[bytes]
    protocol: str
    endpoint: str = ""
    requests: Counter[tuple[Mode, Signal]] = field(default_factory=Counter[tuple[Mode, Signal]])
    _arrived: Condition = field(default_factory=Condition)
    _traces: list[ExportTraceServiceRequest] = field(default_factory=list[ExportTraceServiceRequest], repr=False)
    _metrics: list[ExportMetricsServiceRequest] = field(default_factory=list[ExportMetricsServiceRequest], repr=False)
    _logs: list[ExportLogsServiceRequest] = field(default_factory=list[ExportLogsServiceRequest], repr=False)
    _mode: Mode | None = None

    @property
    def environ(self) -> dict[str, str]:
        """The standard variables of a process that sends to this receiver."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": self.protocol}

    def spans_with_resource(self) -> list[Received]:
        """All spans so far, in the order in which they came."""
        return [
            Received(attributes(group.resource.attributes), span, Origin.of(group, scope))
            for request in list(self._traces)
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def spans(self) -> list[Span]:
        return [received.item for received in self.spans_with_resource()]

    def metrics_with_resource(self) -> list[Received]:
        """All metrics so far, each as often as it was sent; the newest last."""
        return [
            Received(attributes(group.resource.attributes), metric, Origin.of(group, scope))
            for request in list(self._metrics)
            for group in request.resource_metrics
            for scope in group.scope_metrics
            for metric in scope.metrics
        ]

    def metrics(self) -> list[Metric]:
        return [received.item for received in self.metrics_with_resource()]

    def logs_with_resource(self) -> list[Received]:
        return [
            Received(attributes(group.resource.attributes), record, Origin.of(group, scope))
            for request in list(self._logs)
            for group in request.resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]

    def logs(self) -> list[LogRecord]:
        return [received.item for received in self.logs_with_resource()]

    def until(self, look: Callable[[], T | None], seconds: float = PATIENCE) -> T:
        """The first answer of `look` that is true, asked anew whenever something has arrived."""
        deadline = time.monotonic() + seconds
        with self._arrived:
            while not (answer := look()):
                left = deadline - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    raise TimeoutError(f"after {seconds:g} s: {dict(self.requests)}, last answer {answer!r}")
            return answer

    def become(self, mode: Mode) -> None:
        """Behave so from now on: returns when it does."""
        with self._arrived:
            self._mode = None
        assert self.process.stdin is not None
        self.process.stdin.write(f"{mode.name}\n".encode())
        self.process.stdin.flush()
        self.until(lambda: self._mode is mode)

    def read(self, frames: IO[bytes]) -> None:
        """Take in what the process passes on, until it ends."""
        while head := frames.read(HEADER.size):
            mode, signal, length = HEADER.unpack(head)
            body = frames.read(length)
            with self._arrived:
                self._take(Mode(mode), Signal(signal), body)
                self._arrived.notify_all()

    def _take(self, mode: Mode, signal: Signal, body: bytes) -> None:
        if signal is Signal.NONE:
            self._mode, self.endpoint = mode, f"http://127.0.0.1:{body.decode()}"
            return
        self.requests[mode, signal] += 1
        if mode is not Mode.NORMAL:
            return
        match signal:
            case Signal.TRACES:
                self._traces.append(ExportTraceServiceRequest.FromString(body))
            case Signal.METRICS:
                self._metrics.append(ExportMetricsServiceRequest.FromString(body))
            case Signal.LOGS:
                self._logs.append(ExportLogsServiceRequest.FromString(body))


@contextmanager
def receiving(protocol: str = HTTP) -> Generator[Receiver]:
    """A receiver that listens until the block ends."""
    command = [sys.executable, "-m", "tests.telemetry.receiver_process", protocol]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        receiver = Receiver(process, protocol)
        thread = Thread(target=receiver.read, args=(process.stdout,))
        thread.start()
        try:
            receiver.until(lambda: receiver.endpoint)
            yield receiver
        finally:
            process.kill()
            thread.join()


def attributes(pairs: Any) -> dict[str, Any]:
    """Attributes as they were set."""
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return list(_values(value.array_value.values))
    if kind == "kvlist_value":
        return attributes(value.kvlist_value.values)
    return getattr(value, kind) if kind else None


def _values(values: Any) -> Iterator[Any]:
    return map(_value, values)
