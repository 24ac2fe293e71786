"""Tells of one delivery and one recovery, then ends: `python -m tests.telemetry.deliveries_child URL [grpc]`.

Prints how many seconds its shutdown took, by its own clock.
"""

from __future__ import annotations

import sys

from holdfast.core.outcomes import Completed
from holdfast.handler.task import Task
from holdfast.telemetry.port import open_telemetry
from tests.awake_clock import AwakeClock
from tests.handler.deliveries import delivery_of


def main(endpoint: str, protocol: str = "http/protobuf") -> None:
    telemetry = open_telemetry(endpoint, "child", protocol)
    delivery = delivery_of()
    span = telemetry.delivery(delivery, Task(delivery), "tests:handle")
    span.ended(Completed(b"1"), None)
    span.settled(None)
    clock = AwakeClock()
    telemetry.shutdown()
    print(clock.seconds, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
