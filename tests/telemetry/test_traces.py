"""Traces of tasks as a collector receives them from a real pool: over forks, kills, retries and drains."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from holdfast.client.manager import TaskManager
from holdfast.core import identity
from holdfast.core.acceptance import Submission
from holdfast.core.envelope import build_parts
from tests.envelopes import build_run
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE
from tests.telemetry import two_hosts
from tests.telemetry.producer import WITHOUT
from tests.telemetry.receiver import Received, Receiver, attributes, receiving

pytestmark = pytest.mark.anyio

FIRES = 10
PRODUCERS = {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"}


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@asynccontextmanager
async def traced(folder: Path, receiver: Receiver, **flags: Any) -> AsyncGenerator[Scene]:
    given = {"handler": "tests.telemetry.traced:act", "otlp_endpoint": receiver.endpoint, "workers": 1, **flags}
    async with stage(folder, **given) as scene:
        yield scene


def submission(task_id: str, text: str, **trace: str) -> Submission:
    built = build_run(task_id, build_parts(text), **trace)
    return Submission(task_id, built.message_id, built.digest, built.operation, QUEUE)


def of_task(receiver: Receiver, task_id: str) -> list[Span]:
    """The spans in the task's own trace."""
    return [span for span in receiver.spans() if span.trace_id.hex() == identity.trace_id(task_id)]


def named(receiver: Receiver, task_id: str, name: str) -> Span | None:
    return next((span for span in of_task(receiver, task_id) if span.name == name), None)


def arrived(receiver: Receiver, task_id: str, name: str) -> Span:
    return receiver.until(lambda: named(receiver, task_id, name))


def told_once(receiver: Receiver, task_id: str, number: int) -> Received:
    """The only span of this delivery, with its process."""
    delivered(receiver, task_id, number)
    wanted = identity.span_id(task_id, number)
    (received,) = [each for each in receiver.spans_with_resource() if each.item.span_id.hex() == wanted]
    return received


def events(span: Span) -> dict[str, dict[str, Any]]:
    return {event.name: attributes(event.attributes) for event in span.events}


def delivered(receiver: Receiver, task_id: str, number: int) -> Span:
    """The span of this delivery."""
    wanted = identity.span_id(task_id, number)
    spans = receiver.until(lambda: [span for span in receiver.spans() if span.span_id.hex() == wanted])
    return spans[0]


async def test_a_handlers_own_span_is_inside_that_of_its_delivery(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver) as scene:
        await scene.submit("own", text="echo hi")
        await scene.completed("own")
        process, inner = arrived(receiver, "own", f"process {QUEUE}"), arrived(receiver, "own", "app echo")
        assert (process.span_id.hex(), inner.parent_span_id) == (identity.span_id("own", 1), process.span_id)
        told = attributes(process.attributes)
        assert told["holdfast.delivery.outcome"] == "completed"
        assert (told["holdfast.task.handler"], told["holdfast.task.attempt"]) == ("tests.telemetry.traced:act", 1)
        assert told["holdfast.task.wait"] >= 0


async def test_a_killed_run_has_a_span_and_is_the_parent_of_its_children(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver) as scene:
        await scene.store.submit([submission("killed", "child")])
        _, pid = scene.started("killed")
        child = arrived(receiver, "killed", "app child")
        os.kill(pid, signal.SIGKILL)
        scene.started("killed")
        scene.go("killed")
        await scene.completed("killed")
        lost, again = delivered(receiver, "killed", 1), delivered(receiver, "killed", 2)
        assert child.parent_span_id == lost.span_id
        assert lost.start_time_unix_nano <= child.start_time_unix_nano < lost.end_time_unix_nano
        told = attributes(lost.attributes)
        assert (told["holdfast.delivery.outcome"], told["error.type"]) == ("lost", "signal: SIGKILL")
        assert lost.status.code == Status.STATUS_CODE_ERROR
        recovery = arrived(receiver, "killed", f"recover {QUEUE}")
        assert recovery.parent_span_id == lost.span_id
        assert [link.span_id for link in again.links] == [lost.span_id]
        assert attributes(again.attributes)["holdfast.delivery.outcome"] == "completed"


async def test_a_failed_run_has_its_exception_without_the_message_and_its_retry(
    short_path: Path, receiver: Receiver
) -> None:
    async with traced(short_path, receiver, retry_base=0.0) as scene:
        await scene.store.submit([submission("failed", "raise 1")])
        await scene.completed("failed")
        failed, again = delivered(receiver, "failed", 1), delivered(receiver, "failed", 2)
        told = events(failed)
        assert list(told) == ["exception", "holdfast.retry"]
        assert told["exception"]["exception.type"] == "KeyError"
        assert "traced.py" in told["exception"]["exception.stacktrace"]
        assert told["holdfast.retry"]["holdfast.delivery.settlement"] == "retry"
        assert "secret" not in str(failed)
        assert failed.status.code == Status.STATUS_CODE_ERROR
        assert attributes(again.attributes)["holdfast.task.attempt"] == 2
        assert [link.span_id for link in again.links] == [failed.span_id]


async def test_checkpoints_and_a_release_by_a_drain_are_events(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver, drain_timeout=0.5) as scene:
        await scene.submit("drained", text="mark here")
        scene.started("drained")
        scene.stop()
        told = events(delivered(receiver, "drained", 1))
        assert list(told) == ["holdfast.checkpoint", "holdfast.release"]
        assert told["holdfast.checkpoint"] == {"holdfast.checkpoint.size": len('"here"')}


async def test_in_the_mode_parent_all_is_in_the_producers_trace(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver, trace_mode="parent") as scene:
        await scene.store.submit([submission("inside", "child", **PRODUCERS, trace_flags="01")])
        _, pid = scene.started("inside")
        os.kill(pid, signal.SIGKILL)
        scene.started("inside")
        scene.go("inside")
        await scene.completed("inside")
        for number in (1, 2):
            span = delivered(receiver, "inside", number)
            assert (span.trace_id.hex(), span.parent_span_id.hex()) == (PRODUCERS["trace_id"], PRODUCERS["span_id"])
        recovery = identity.recovery_span_id("inside", 1)
        receiver.until(lambda: [span for span in receiver.spans() if span.span_id.hex() == recovery])


async def test_a_task_that_its_producer_does_not_sample_has_no_span(short_path: Path, receiver: Receiver) -> None:
    """Neither from its workers nor from the steward that recovers it."""
    async with traced(short_path, receiver) as scene:
        await scene.store.submit([submission("unsampled", "child", **PRODUCERS, trace_flags="00")])
        _, pid = scene.started("unsampled")
        os.kill(pid, signal.SIGKILL)
        scene.started("unsampled")
        scene.go("unsampled")
        await scene.completed("unsampled")
        await scene.store.submit([submission("after", "child")])
        _, pid = scene.started("after")
        os.kill(pid, signal.SIGKILL)
        scene.started("after")
        scene.go("after")
        delivered(receiver, "after", 1)
        delivered(receiver, "after", 2)
        assert of_task(receiver, "unsampled") == []


async def test_a_task_that_fails_for_good_has_a_dead_letter_in_its_span(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver, max_attempts=1) as scene:
        await scene.store.submit([submission("hopeless", "raise 9")])
        await scene.settled("hopeless")
        assert list(events(delivered(receiver, "hopeless", 1))) == ["exception", "holdfast.dead_letter"]


async def test_a_provider_of_the_handlers_module_is_used(
    short_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_COLLECTOR", receiver.endpoint)
    async with traced(short_path, receiver, handler="tests.telemetry.own_provider:act") as scene:
        await scene.submit("provided", text="echo")
        await scene.completed("provided")
        received = told_once(receiver, "provided", 1)
        assert received.resource["service.name"] == "app"
        inner = arrived(receiver, "provided", "app echo")
        assert inner.parent_span_id == received.item.span_id


async def test_one_trace_crosses_two_hosts_a_kill_and_a_retry(short_path: Path, receiver: Receiver) -> None:
    spans = await two_hosts.play(short_path, receiver)
    by_id = {each.item.span_id: each for each in spans}
    (root,) = [each for each in spans if not each.item.parent_span_id]
    assert root.item.name == "POST /orders"
    assert all(each.item.parent_span_id in by_id for each in spans if each is not root)  # no hole
    deliveries = [by_id[bytes.fromhex(identity.span_id(two_hosts.TASK, number))] for number in (1, 2, 3)]
    told = [attributes(each.item.attributes) for each in deliveries]
    assert [each["holdfast.delivery.outcome"] for each in told] == ["lost", "raised", "completed"]
    assert {each.resource["host.name"] for each in spans} == {"shop-1", "host-a", "host-b"}
    charged = [each for each in spans if each.item.name == "charge card"]
    assert [by_id[each.item.parent_span_id].item.span_id for each in charged] == [
        each.item.span_id for each in deliveries
    ]
    assert [each.resource["host.name"] for each in charged] == ["host-a", "host-b", "host-b"]
    assert {attributes(each.item.attributes)["customer"] for each in charged} == {"c 7"}


async def test_a_producers_spans_are_send_for_one_task_and_create_for_each_of_a_batch(
    short_path: Path, receiver: Receiver
) -> None:
    async with traced(short_path, receiver, trace_mode="parent") as scene:
        await to_thread.run_sync(two_hosts.submit, scene, receiver, "alone=echo")
        await to_thread.run_sync(two_hosts.submit, scene, receiver, "first=echo", "second=echo")
        for task_id in ("alone", "first", "second"):
            await scene.completed(task_id)
        spans = {span.span_id: span for span in receiver.spans()}
        for task_id, name in (("alone", f"send {QUEUE}"), ("first", f"create {QUEUE}"), ("second", f"create {QUEUE}")):
            parent = spans[delivered(receiver, task_id, 1).parent_span_id]
            assert (parent.name, parent.kind) == (name, Span.SPAN_KIND_PRODUCER)
            assert attributes(parent.attributes)["holdfast.task.id"] == task_id
        (batch,) = [span for span in spans.values() if span.kind == Span.SPAN_KIND_CLIENT]
        assert batch.name == f"send {QUEUE}"
        assert attributes(batch.attributes)["messaging.batch.message_count"] == 2
        assert len(batch.links) == 2


async def test_a_producer_without_a_tracer_has_no_span(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver, trace_mode="parent") as scene:
        await to_thread.run_sync(two_hosts.submit, scene, receiver, "plain=echo", WITHOUT)
        await scene.completed("plain")
        span = delivered(receiver, "plain", 1)
        assert (span.trace_id.hex(), span.parent_span_id) == (identity.trace_id("plain"), b"")
        assert not span.links


async def test_a_fire_of_a_schedule_is_a_span_that_the_run_links_to(short_path: Path, receiver: Receiver) -> None:
    async with traced(short_path, receiver) as scene:
        manager = TaskManager(scene.store, queue=QUEUE)
        await manager.schedules.upsert("nightly", at=time.time() + 0.3, text="echo")
        fire = receiver.until(lambda: [span for span in receiver.spans() if span.name == f"fire {QUEUE}"])[0]
        told = attributes(fire.attributes)
        assert told["holdfast.schedule.id"] == "nightly"
        process = delivered(receiver, told["holdfast.task.id"], 1)
        assert process.trace_id == fire.trace_id
        assert [link.span_id for link in process.links] == [fire.span_id]
        manager_ids = [span.span_id for span in receiver.spans() if span.name == f"fire {QUEUE}"]
        assert manager_ids == [fire.span_id]


async def test_each_fire_of_a_schedule_that_goes_on_is_a_span_that_its_run_links_to(
    short_path: Path, receiver: Receiver
) -> None:
    """By the steward, or, as a rule, by the worker after its run."""
    async with traced(short_path, receiver) as scene:
        manager = TaskManager(scene.store, queue=QUEUE)
        await manager.schedules.upsert("round", schedule="CONTINUE", limit=FIRES, text="echo hi")
        for fire in receiver.until(lambda: len(found := fires_of(receiver, "round")) == FIRES and found):
            run = delivered(receiver, attributes(fire.attributes)["holdfast.task.id"], 1)
            assert [link.span_id for link in run.links] == [fire.span_id]
            assert run.trace_id == fire.trace_id


def fires_of(receiver: Receiver, schedule: str) -> list[Span]:
    fires = [span for span in receiver.spans() if span.name == f"fire {QUEUE}"]
    return [fire for fire in fires if attributes(fire.attributes)["holdfast.schedule.id"] == schedule]
