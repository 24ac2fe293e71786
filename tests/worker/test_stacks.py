"""The stacks of a worker: of the tasks of the queue, of asyncio tasks, and of threads."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from types import SimpleNamespace

import anyio
import pytest

from holdfast.os import stack_file
from holdfast.os.handlers_loop import heed_exits
from holdfast.os.stack_file import StackFrame, TaskStack, frames_of
from holdfast.worker.context import lease_clock
from tests.handler.deliveries import delivery_of
from tests.worker.test_running import running_tasks

pytestmark = pytest.mark.anyio


def lines_of(frames: list[StackFrame]) -> list[tuple[str, str]]:
    return [(each.function.rpartition(".")[2], each.code) for each in frames]


async def _waits() -> None:
    await asyncio.sleep(60)


async def _in_the_middle() -> None:
    await _waits()


async def test_the_stack_of_a_task_goes_down_to_the_line_that_waits() -> None:
    task = asyncio.create_task(_in_the_middle())
    await asyncio.sleep(0)
    found = frames_of(task, None)
    assert lines_of(found)[:2] == [("_in_the_middle", "await _waits()"), ("_waits", "await asyncio.sleep(60)")]
    assert [each.is_own for each in found] == [False, False, True], "the last is of asyncio"
    task.cancel()


async def test_the_stack_of_the_task_that_runs_is_that_of_its_thread() -> None:
    found = list[StackFrame]()

    def plain() -> None:
        task = asyncio.current_task()
        assert task
        found.extend(frames_of(task, sys._getframe()))

    async def inner() -> None:
        plain()

    await asyncio.create_task(inner())
    assert [function for function, _ in lines_of(found)] == ["inner", "plain"]


async def test_a_stack_passes_a_generator() -> None:
    async def items() -> AsyncGenerator[int]:
        await asyncio.sleep(60)
        yield 1

    async def reads() -> None:
        async for _ in items():
            pass

    task = asyncio.create_task(reads())
    await asyncio.sleep(0)
    assert next(function for function, _ in lines_of(frames_of(task, None))) == "reads"
    task.cancel()


async def test_the_tasks_of_the_queue_come_first_with_what_their_handlers_have_started() -> None:
    begun = asyncio.Event()

    async def helper() -> None:
        begun.set()
        await asyncio.sleep(60)

    async def handle() -> None:
        await asyncio.create_task(helper(), name="helper")

    heed_exits(asyncio.get_running_loop())  # as a worker's loop does
    runner = running_tasks(handle)
    other = asyncio.create_task(_waits(), name="of the worker")
    async with anyio.create_task_group() as life:
        life.start_soon(runner.serve)
        await anyio.wait_all_tasks_blocked()
        runner.start(delivery_of(), lease_clock())
        await begun.wait()
        found = runner.tasks.stacks(asyncio.get_running_loop(), None)
        life.cancel_scope.cancel()
    other.cancel()
    with suppress(asyncio.CancelledError):
        await other
    first, second, *others = found
    assert (first.task_id, first.name, second.task_id, second.name) == ("t-1", "", "t-1", "helper")
    assert ("handle", 'await asyncio.create_task(helper(), name="helper")') in lines_of(first.frames)
    assert ("helper", "await asyncio.sleep(60)") in lines_of(second.frames)
    assert first.frames[0].is_own
    assert not any(each.task_id for each in others)
    assert "of the worker" in {each.name for each in others}
    assert first.text.startswith("Task t-1, handler ")


def test_the_log_has_stacks_of_tasks_and_only_the_names_of_the_workers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        TaskStack("t1", "mail", 1.5, "", []),
        TaskStack("", "", 0.0, "heartbeat", []),
        TaskStack("", "", 0.0, "pull", []),
    ]
    written = list[bytes]()
    monkeypatch.setattr(stack_file, "_tellers", [lambda _: found])
    monkeypatch.setattr(stack_file, "STREAM", SimpleNamespace(write=written.append))
    stack_file._log(0, None)
    assert b"".join(written).decode().splitlines() == [
        "Task t1, handler mail, for 1.5 s (most recent call last):",
        "Asyncio tasks of the worker itself: heartbeat, pull",
    ]
