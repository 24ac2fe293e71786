"""Traces of a supervisor as users start it, over a kill, a reload and the drain at its end."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from holdfast.core import identity
from tests.cli.commands import ROOT, Cli
from tests.cli.conftest import running, until_replaced
from tests.telemetry.receiver import GRPC, HTTP, PATIENCE, Received, Receiver, attributes, receiving


@pytest.mark.parametrize("protocol", [HTTP, GRPC])
def test_each_run_has_one_span_over_a_kill_a_reload_and_a_drain(protocol: str) -> None:
    with receiving(protocol) as receiver, TemporaryDirectory(prefix="holdfast-") as name:
        folder = Path(name)
        words = ("tests.telemetry.handlers:waits", "--app-dir", str(ROOT), "--workers", "1", "--drain-timeout", "1")
        with running(folder, *words, environ=receiver.environ) as (cli, _):
            assert cli("submit", "die", "--task-id", "killed", "--wait").status == 0
            begun(cli, "reloaded")
            assert cli("reload", "--wait").status == 0
            (folder / "reloaded").touch()
            until_replaced(cli)
            (folder / "later").touch()
            begun(cli, "later")
            begun(cli, "drained")
        lost, completed = of_run(receiver, "killed", 1), of_run(receiver, "killed", 2)
        assert [outcome(lost), outcome(completed)] == ["lost", "completed"]
        assert [link.span_id for link in completed.item.links] == [lost.item.span_id]
        before, after = of_run(receiver, "reloaded", 1), of_run(receiver, "later", 1)
        assert [outcome(before), outcome(after)] == ["completed", "completed"]
        released = of_run(receiver, "drained", 1)
        assert "holdfast.release" in {event.name for event in released.item.events}
        workers = [each.resource["service.instance.id"] for each in (completed, before, after, released)]
        assert workers[0] == workers[1] != workers[2] == workers[3], "the code of before ends what it has begun"
        for text, run in (("reloaded", before), ("later", after), ("drained", released)):
            assert own(receiver, text).parent_span_id == run.item.span_id


def begun(cli: Cli, text: str) -> None:
    """Submit a task that waits for the file of this name, and wait until its handler runs."""
    assert cli("submit", text, "--task-id", text).status == 0
    given_up = time.monotonic() + PATIENCE
    while not (cli.folder / f"{text}.runs").exists():
        assert time.monotonic() < given_up


def of_run(receiver: Receiver, task_id: str, number: int) -> Received:
    """The only span of this delivery."""
    wanted = bytes.fromhex(identity.span_id(task_id, number))
    receiver.until(lambda: [span for span in receiver.spans() if span.span_id == wanted])
    (received,) = [each for each in receiver.spans_with_resource() if each.item.span_id == wanted]
    return received


def outcome(run: Received) -> str:
    return str(attributes(run.item.attributes)["holdfast.delivery.outcome"])


def own(receiver: Receiver, text: str) -> Span:
    """The span that the handler made itself."""
    return receiver.until(lambda: next((span for span in receiver.spans() if span.name == f"app {text}"), None))
