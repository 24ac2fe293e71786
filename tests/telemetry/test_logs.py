"""Log records over OTLP, as a collector gets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber

from holdfast.telemetry.logs import SHUTDOWN_SECONDS
from holdfast.telemetry.semantic_names import SCHEMA_URL
from tests.cli.commands import ROOT
from tests.cli.conftest import running
from tests.telemetry.receiver import GRPC, HTTP, PATIENCE, Mode, Received, Receiver, attributes, receiving


@pytest.fixture(params=[HTTP, GRPC])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with receiving(request.param) as receiver:
        yield receiver


def child(receiver: Receiver, records: int = 0, **variables: str) -> tuple[float, list[dict[str, Any]]]:
    """The seconds for which the child was awake at its end, and what it wrote to standard error."""
    command = [sys.executable, "-m", "tests.telemetry.log_child", receiver.endpoint, receiver.protocol, str(records)]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return float(done.stdout), [json.loads(line) for line in done.stderr.splitlines()]


def of(receiver: Receiver, body: str) -> LogRecord | None:
    return next((record for record in receiver.logs() if record.body.string_value == body), None)


def test_records_of_the_block_arrive_as_they_were_written(receiver: Receiver) -> None:
    _, written = child(receiver)
    receiver.until(lambda: of(receiver, "failed"))
    events = [line["event"] for line in written]
    expected = ["within", "*** as text", "of another span", "failed", "a library's warning"]
    assert events == ["before", *expected, "the collector is away", "after"]
    assert [record.body.string_value for record in receiver.logs()] == expected
    within, hidden, elsewhere, failed = (receiver.logs()[at] for at in range(4))
    assert (within.severity_number, within.severity_text) == (SeverityNumber.SEVERITY_NUMBER_WARN, "warning")
    shown = attributes(within.attributes)
    assert within.span_id.hex() == shown.pop("span")
    assert shown == {"lane": "q", "depth": 3, "late": True, "names": "['a']", "pid": written[1]["pid"]}
    assert elsewhere.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert elsewhere.span_id.hex() == "b7ad6b7169203331"
    assert attributes(failed.attributes)["exception.stacktrace"] == written[4]["exception"]
    sent = attributes(hidden.attributes)
    assert (sent["url"], sent["password"]) == ("redis://user:***@host/0", "***")
    assert sent["deep"] == "{'a': '***'}"
    assert receiver.logs_with_resource()[0].resource["service.name"] == "child"
    origins = [each.origin for each in receiver.logs_with_resource()]
    assert {(each.name, each.version, each.scope_schema) for each in origins} == {
        ("child", "", ""),
        ("library", "", ""),
    }
    assert {each.resource_schema for each in origins} == {SCHEMA_URL}


def test_logs_are_not_sent_where_the_standards_variable_says_so() -> None:
    with receiving() as receiver:
        child(receiver, OTEL_LOGS_EXPORTER="none")
        assert not receiver.requests


@pytest.mark.parametrize("mode", [Mode.HANGS, Mode.REFUSES, Mode.ANSWERS_500])
def test_a_collector_that_is_away_costs_a_bounded_time_and_few_lines(receiver: Receiver, mode: Mode) -> None:
    receiver.become(mode)
    seconds, written = child(receiver, records=5000)
    assert seconds < SHUTDOWN_SECONDS * 2  # the SDK alone takes 10 s and more
    assert sum(line["logger"] == "child" for line in written) > 1000, "standard error has them"
    assert sum(line["logger"].startswith("opentelemetry") for line in written) < 30


def test_records_of_workers_name_the_span_of_their_task() -> None:
    with receiving() as receiver, TemporaryDirectory(prefix="holdfast-") as folder:
        environ = receiver.environ | {"OTEL_BSP_SCHEDULE_DELAY": "100"}
        words = ("tests.telemetry.handlers:logs", "--app-dir", str(ROOT), "--workers", "2")
        with running(Path(folder), *words, environ=environ) as (cli, _):
            assert cli("submit", "a", "b", "--wait").status == 0
            records = receiver.until(lambda: len(_runs(receiver)) == 2 and _pair(receiver))
            pid = next(
                process["pid"]
                for process in cli("status", "--json").document["processes"]
                if process["kind"] == "worker"
            )
            os.kill(pid, signal.SIGKILL)
            assert cli("submit", "c", "--wait").status == 0
            assert cli("reload").status == 0
            assert cli("submit", "d", "--wait").status == 0
        assert {received.resource["service.name"] for received in records} == {"holdfast-worker"}
        receiver.until(lambda: len(_handlers(receiver)) == 4)
        spans = receiver.until(lambda: len(_runs(receiver)) == 4 and _runs(receiver))
        assert {each.item.span_id for each in _handlers(receiver)} == spans


def _handlers(receiver: Receiver) -> list[Received]:
    return [each for each in receiver.logs_with_resource() if each.item.body.string_value == "in the handler"]


def _pair(receiver: Receiver) -> list[Received]:
    found = _handlers(receiver)
    return found if len(found) == 2 else []


def _runs(receiver: Receiver) -> set[bytes]:
    """The spans of the deliveries."""
    return {span.span_id for span in receiver.spans() if span.name.startswith("process")}


def test_what_the_supervisor_logs_arrives_through_its_steward() -> None:
    """Also the death of a steward, through the next one."""
    with receiving() as receiver, TemporaryDirectory(prefix="holdfast-") as folder:
        words = ("tests.telemetry.handlers:logs", "--app-dir", str(ROOT), "--workers", "1")
        with running(Path(folder), *words, environ=receiver.environ) as (cli, _):
            for kind in ("worker", "steward"):
                processes = cli("status", "--json").document["processes"]
                pid = next(each["pid"] for each in processes if each["kind"] == kind)
                os.kill(pid, signal.SIGKILL)
                died = receiver.until(lambda pid=pid: _death(receiver, pid))
                assert died.severity_number >= SeverityNumber.SEVERITY_NUMBER_WARN
                assert died.time_unix_nano <= died.observed_time_unix_nano


def _death(receiver: Receiver, pid: int) -> LogRecord | None:
    """The line that the supervisor has logged about the end of this process."""
    for received in receiver.logs_with_resource():
        if received.resource["service.name"] == "holdfast-supervisor" and received.item.body.string_value == "died":
            shown = attributes(received.item.attributes)
            if shown["pid"] == pid and shown["cause"] == "signal: SIGKILL":
                return received.item
    return None
