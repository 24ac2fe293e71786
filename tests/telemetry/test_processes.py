"""Telemetry costs a process nothing when it is off, and a bounded wait when the collector is away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.telemetry.logs import SHUTDOWN_SECONDS
from tests.telemetry.collector import Collector, collecting

PATIENCE = 60.0  # seconds; reached only by a test that fails


def python(*arguments: str, **variables: str) -> str:
    environ = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, *arguments], env=environ, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A collector that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where connections are refused; nobody else can listen there meanwhile."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{kept.getsockname()[1]}"


def test_telemetry_that_is_off_loads_nothing() -> None:
    program = (
        "import sys; import holdfast.worker.main; from holdfast.telemetry.port import open_telemetry;"
        "open_telemetry(None, 'w').shutdown();"
        "print([name for name in sys.modules if name.split('.')[0] in ('opentelemetry', 'grpc', 'requests')])"
    )
    assert python("-c", program) == "[]"


def test_grpc_is_loaded_only_when_asked_for(black_hole: str) -> None:
    program = (
        f"import sys; from holdfast.telemetry.port import open_telemetry; open_telemetry({black_hole!r}, 'w');"
        "print('opentelemetry.sdk.trace' in sys.modules, 'grpc' in sys.modules)"
    )
    assert python("-c", program) == "True False"


def test_over_grpc_spans_arrive() -> None:
    seconds, arrived = python("-m", "tests.telemetry.collector_grpc").splitlines()
    assert float(seconds) < SHUTDOWN_SECONDS
    assert json.loads(arrived) == {"span": "process q"}


@pytest.mark.parametrize("away", ["black_hole", "nobody"])
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_is_away_holds_up_shutdown_and_exit_for_a_bounded_time(
    request: pytest.FixtureRequest, away: str, protocol: str
) -> None:
    endpoint: str = request.getfixturevalue(away)
    seconds = float(python("-m", "tests.telemetry.deliveries_child", endpoint, protocol))
    assert seconds < SHUTDOWN_SECONDS * 2  # without the limit it is 10 s and more


def test_a_collector_that_is_there_is_not_waited_for_longer_than_it_takes() -> None:
    with collecting() as collector:
        assert float(python("-m", "tests.telemetry.deliveries_child", collector.endpoint)) < SHUTDOWN_SECONDS
        assert collector.span().name == "process q"


def test_the_users_own_name_of_the_service_wins() -> None:
    with collecting() as collector:
        python("-m", "tests.telemetry.deliveries_child", collector.endpoint, OTEL_SERVICE_NAME="mine")
        assert _service(collector) == "mine"


def _service(collector: Collector) -> str:
    resource = collector.traces.get(timeout=10).resource_spans[0].resource
    return next(pair.value.string_value for pair in resource.attributes if pair.key == "service.name")
