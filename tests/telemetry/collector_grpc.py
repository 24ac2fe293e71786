"""The same collector over gRPC, with its client in this process: `python -m tests.telemetry.collector_grpc`.

A process of its own, for gRPC's threads and forks do not go together. Prints what arrived as JSON.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as traces_grpc

from tests.telemetry import deliveries_child as telemetry_child

PATIENCE = 30.0  # seconds
seen: Queue[Any] = Queue()


class Traces(traces_grpc.TraceServiceServicer):
    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802  # the name it has there
        seen.put(("span", request.resource_spans[0].scope_spans[0].spans[0].name))
        return traces.ExportTraceServiceResponse()


def main() -> None:
    server = grpc.server(ThreadPoolExecutor(2))
    traces_grpc.add_TraceServiceServicer_to_server(Traces(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    telemetry_child.main(f"http://127.0.0.1:{port}", "grpc")
    print(json.dumps(dict([seen.get(timeout=PATIENCE)])), flush=True)
    server.stop(None).wait(PATIENCE)


if __name__ == "__main__":
    main()
