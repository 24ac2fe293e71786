"""Shared by the tests of handlers: a delivery of a message, a run of a function on it, a worker's task runner."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anyio

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import build_parts
from holdfast.core.messages import Part
from holdfast.core.outcomes import Outcome
from holdfast.handler.handler import Handler, callee
from holdfast.handler.run_handler import run
from holdfast.handler.task import Task
from holdfast.handler.threads import GRACE, Threads
from holdfast.telemetry.port import open_telemetry
from holdfast.worker.context import WorkerContext
from holdfast.worker.parent_reports import Heartbeat, Recycler
from holdfast.worker.run import TaskRunner
from holdfast.worker.samples import Samples
from tests.envelopes import build_run


def delivery_of(parts: str | list[Part] = "hello", **fields: Any) -> Delivery:
    """A delivery of one message; `fields` override those of the delivery."""
    operation = build_run("t-1", build_parts(parts) if isinstance(parts, str) else parts, context_id="c-1").operation
    usual: dict[str, Any] = {
        "task_id": "t-1",
        "claim": "1:i:1",
        "lane": "q",
        "operation": operation,
        "turn": 1,
        "delivery": 1,
        "attempts": 0,
        "crashes": 0,
        "max_attempts": None,
        "timeout_ms": None,
        "solo": False,
    }
    return Delivery(**(usual | fields))


def handler_of(function: Callable[..., Any]) -> Handler:
    return Handler("tests:handle", callee(function, "tests:handle", named=False))


def task_runner_of(context: WorkerContext, function: Callable[..., Any]) -> TaskRunner:
    """The task runner of a worker whose parent does not read."""
    link: Any = SimpleNamespace(send=lambda _: None)
    heartbeat = Heartbeat(context, link)
    recycler = Recycler(context.state, heartbeat)
    return TaskRunner(
        context, handler_of(function), open_telemetry(None, "tests"), heartbeat, recycler, Samples(context)
    )


async def run_handler(
    handler: Handler | Callable[..., Any],
    delivery: Delivery | None = None,
    *,
    task: Task | None = None,
    timeout: float | None = None,
    limiter: anyio.CapacityLimiter | None = None,
    on_stuck: Callable[[], None] = lambda: None,
    thread_grace: float = GRACE,
) -> Outcome:
    """The outcome of a delivery (None: of "hello") with a fresh task, in at most thirty seconds."""
    delivery = delivery or delivery_of()
    chosen = handler if isinstance(handler, Handler) else handler_of(handler)
    threads = Threads(limiter or anyio.CapacityLimiter(4), on_stuck, thread_grace)
    with anyio.fail_after(30):
        return await run(chosen, delivery, task or Task(delivery), threads, timeout)


def document(outcome: Outcome) -> Any:
    """The result document of an outcome that has one."""
    result = getattr(outcome, "result", None)
    assert isinstance(result, bytes), outcome
    return json.loads(result)
