"""The process behind `tests.telemetry.receiver`: takes OTLP over http/protobuf or gRPC and passes on each request.

`python -m tests.telemetry.receiver_process http/protobuf|grpc`. Lines on standard input are modes. Frames on standard
output begin with the mode, the signal and the length of what follows: for a mode that was taken up the port, for a
request its bytes. A process of its own, for threads of gRPC and forks of a test do not go together.
"""

from __future__ import annotations

import gzip
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Protocol

HTTP = "http/protobuf"
GRPC = "grpc"
HEADER = struct.Struct(">BBI")


class Mode(IntEnum):
    """`HANGS`: requests get their answer in the next mode."""

    NORMAL = 0
    HANGS = 1
    REFUSES = 2
    ANSWERS_500 = 3


class Signal(IntEnum):
    NONE = 0
    TRACES = 1
    METRICS = 2
    LOGS = 3


PATHS = {"/v1/traces": Signal.TRACES, "/v1/metrics": Signal.METRICS, "/v1/logs": Signal.LOGS}
SERVICES = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": Signal.TRACES,
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": Signal.METRICS,
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": Signal.LOGS,
}


class Answers:
    """Passes requests on and says if they are to be answered well."""

    def __init__(self) -> None:
        self.mode = Mode.NORMAL
        self._changed = Event()
        self._writing = Lock()

    def change(self, mode: Mode) -> None:
        self.mode = mode
        self._changed.set()
        self._changed = Event()

    def take(self, signal: Signal, body: bytes) -> bool:
        changed, mode = self._changed, self.mode
        self.write(mode, signal, body)
        if mode is Mode.HANGS:
            changed.wait()
            mode = self.mode
        return mode is Mode.NORMAL

    def write(self, mode: Mode, signal: Signal, body: bytes) -> None:
        with self._writing:
            sys.stdout.buffer.write(HEADER.pack(mode, signal, len(body)) + body)
            sys.stdout.buffer.flush()


class Server(Protocol):
    port: int

    def close(self) -> None: ...


class HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answers: Answers, port: int) -> None:
        super().__init__(("127.0.0.1", port), _handler(answers))
        self.port = int(self.server_address[1])
        self._connections: list[socket.socket] = []
        self._thread = Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """A client that is gone is no news."""


def _handler(answers: Answers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            is_well = self.path in PATHS and answers.take(PATHS[self.path], body)
            self.send_response(200 if is_well else 500)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has there
            pass

    return Handler


class GrpcServer:
    def __init__(self, answers: Answers, port: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        import grpc

        class Services(grpc.GenericRpcHandler):
            def service(self, handler_call_details: Any) -> Any:
                signal = SERVICES.get(handler_call_details.method)
                return signal and grpc.unary_unary_rpc_method_handler(_grpc_handler(answers, signal))

        self._server = grpc.server(ThreadPoolExecutor(32), [Services()], options=[("grpc.so_reuseport", 0)])
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self._server.start()

    def close(self) -> None:
        self._server.stop(0).wait()


def _grpc_handler(answers: Answers, signal: Signal) -> Callable[[bytes, Any], bytes]:
    def take(request: bytes, context: Any) -> bytes:
        from grpc import StatusCode

        if not answers.take(signal, request):
            context.abort(StatusCode.INTERNAL, "mode")
        return b""

    return take


def main(protocol: str) -> None:
    answers, kind = Answers(), GrpcServer if protocol == GRPC else HttpServer
    server: Server | None = kind(answers, 0)
    port = server.port
    answers.write(Mode.NORMAL, Signal.NONE, str(port).encode())
    for line in sys.stdin:
        mode = Mode[line.strip()]
        answers.change(mode)
        if mode is Mode.REFUSES and server is not None:
            server.close()
            server = None
        elif mode is not Mode.REFUSES and server is None:
            server = kind(answers, port)
        answers.write(mode, Signal.NONE, str(port).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
