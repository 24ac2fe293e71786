"""`supervisor doctor` asks the addresses of the settings: a collector of OpenTelemetry, and metrics."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, Answer, Cli
from tests.cli.scraping import scraped
from tests.telemetry.collector import collecting


def asked(folder: Path, *options: str, **environ: str) -> Answer:
    """Of an application without a running supervisor."""
    places = ("--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state"))
    words = ("doctor", "examples.agent:handle", "--json", "--app-dir", str(ROOT), *places)
    return Cli(folder, environ=environ)(*words, *options)


def found(answer: Answer, subject: str) -> dict[str, str]:
    [finding] = (each for each in answer.document if each["subject"] == subject)
    return dict(finding)


def test_without_addresses_nothing_is_asked(short_path: Path) -> None:
    answer = asked(short_path)
    assert [found(answer, subject)["level"] for subject in ("telemetry", "metrics")] == ["ok", "ok"]
    assert "not used" in found(answer, "telemetry")["found"]


def test_a_collector_gets_one_span_and_its_answer_is_told(short_path: Path) -> None:
    with collecting() as collector:
        finding = found(asked(short_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint), "telemetry")
        span = collector.span()
    assert (span.name, collector.traces.empty()) == ("holdfast doctor", True)
    assert finding["level"] == "ok"
    assert f"accepted a span, trace {span.trace_id.hex()}" in finding["found"]


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_is_away_is_a_warning_with_its_error(short_path: Path, protocol: str) -> None:
    with closing(socket.socket()) as kept:  # so that nobody else listens there meanwhile
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        }
        answer = asked(short_path, **environ)
    finding = found(answer, "telemetry")
    assert (finding["level"], answer.err) == ("warning", "")
    assert str(port) in finding["found"]
    assert "span" in finding["found"]


def test_an_address_of_metrics_that_is_taken_is_a_problem(short_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        finding = found(asked(short_path, "--metrics", address), "metrics")
    assert finding["level"] == "problem"
    assert f"--metrics {address}: Address already in use" in finding["found"]
    assert "choose another port" in finding["fix"]
    assert found(asked(short_path, "--metrics", address), "metrics")["found"] == f"{address} is free"


def test_a_socket_of_metrics_without_its_folder_is_a_problem(short_path: Path) -> None:
    finding = found(asked(short_path, "--metrics", f"unix:{short_path}/none/metrics.sock"), "metrics")
    assert (finding["level"], finding["fix"]) == ("problem", "make it, or choose another")


def test_a_running_supervisor_is_asked_as_a_scraper_asks(short_path: Path) -> None:
    with scraped(short_path) as (cli, scraper):
        place = scraper.place
        address = f"unix:{place}" if isinstance(place, Path) else place.split("/")[2]
        answers = found(cli("doctor", "examples.wordcount:handle", "--json", "--metrics", address), "metrics")
        other = f"unix:{short_path}/other.sock"
        silent = found(cli("doctor", "examples.wordcount:handle", "--json", "--metrics", other), "metrics")
    assert (answers["level"], answers["found"]) == ("ok", f"{address} answers")
    assert silent["level"] == "warning"
    assert "does not answer" in silent["found"]
