"""The producer's API without async, against a real store and real workers: threads, forks, interrupts, endings."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.client import batch as asynchronous_batch
from holdfast.client import manager as asynchronous
from holdfast.client import schedules as asynchronous_schedules
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.outcomes import read_result
from holdfast.core.task_states import State
from holdfast.errors import ClosedError, InvalidTaskError, StoreUnavailableError, UnknownBatchError, UnknownTaskError
from holdfast.sync import SyncBatch, SyncSchedules, TaskManager
from holdfast_config import RedisSettings
from tests.worker.processes import PATIENCE, worker

AT_ONCE = SubmitRetries(attempts=1)


@pytest.fixture
def manager(redis_settings: RedisSettings) -> Iterator[TaskManager]:
    with TaskManager(redis_settings) as opened:
        yield opened


@pytest.fixture
def echo(redis_settings: RedisSettings, short_path: Path) -> Iterator[None]:
    with worker("echo", folder=short_path, url=redis_settings.url, queue=redis_settings.queue):
        yield


INTERNAL = {"record", "find"}  # for commands and pages, which are asynchronous; docs/reference.md leaves them out


def public(kind: type) -> dict[str, object]:
    return {name: getattr(kind, name) for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))}


def without(found: dict[str, object], names: set[str]) -> dict[str, object]:
    return {name: method for name, method in found.items() if name not in names}


@pytest.mark.parametrize(
    ("ours", "theirs", "more"),
    [
        (public(TaskManager), without(public(asynchronous.TaskManager), INTERNAL), {"close"}),
        (public(SyncSchedules), public(asynchronous_schedules.Schedules), set[str]()),
        (public(SyncBatch), public(asynchronous_batch.Batch), set[str]()),
    ],
    ids=["TaskManager", "Schedules", "Batch"],
)
def test_it_has_the_names_and_docstrings_of_the_async_one(
    ours: dict[str, object], theirs: dict[str, object], more: set[str]
) -> None:
    assert ours.keys() - more == theirs.keys()
    for name, method in theirs.items():
        assert inspect.getdoc(ours[name]) == inspect.getdoc(method)
        assert inspect.signature(ours[name]).parameters == inspect.signature(method).parameters  # type: ignore[arg-type]
        assert not inspect.iscoroutinefunction(ours[name])


@pytest.mark.usefixtures("echo")
def test_tasks_are_submitted_and_waited_for(manager: TaskManager) -> None:
    task_id = manager.run_task("hello")
    record = manager.wait(task_id, timeout=PATIENCE)
    assert (record.state, read_result(record.result).value) == (State.COMPLETED, "hello")
    ids = manager.run_tasks(TaskSpec(text=f"number {n}") for n in range(5))
    assert {record.task_id for record in manager.wait_all(ids)} == set(ids)
    assert manager.count_tasks("completed") == 6


@pytest.mark.usefixtures("echo")
def test_a_batch_is_submitted_waited_for_and_read(manager: TaskManager) -> None:
    ids = manager.run_tasks([TaskSpec(text="a"), TaskSpec(text="b")], batch="b1", then=TaskSpec(text="all"))
    batch = manager.batch("b1")
    assert batch.wait(timeout=PATIENCE).counts.completed == 2
    assert [task.task_id for task in batch.tasks("completed")] == ids
    assert read_result(manager.wait("b1.then", timeout=PATIENCE).result).value == "all"
    assert [each.batch_id for each in manager.batches().batches] == ["b1"]
    with pytest.raises(UnknownBatchError):
        manager.batch("nobody").record()
    with pytest.raises(InvalidTaskError):
        manager.batch("a b")


def test_tasks_are_steered_and_looked_at(manager: TaskManager) -> None:
    task_id = manager.run_task("hello")
    assert manager.pause_task(task_id) == State.SUSPENDED
    assert manager.resume_task(task_id, "more") == State.SUBMITTED
    assert [task.task_id for task in manager.list_tasks(state="submitted").tasks] == [task_id]
    assert manager.clear_queue() > 0
    assert manager.queue_length() == 0
    assert manager.get_task(task_id).state == State.CANCELED
    assert manager.retry_task(task_id) == f"{task_id}.r1"
    assert manager.health_check()


def test_errors_are_those_of_the_async_one(manager: TaskManager) -> None:
    with pytest.raises(UnknownTaskError):
        manager.get_task("nobody")
    with pytest.raises(InvalidTaskError):
        manager.run_task(5)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidTaskError):
        manager.wait_all("t1")
    with pytest.raises(TimeoutError):
        manager.wait(manager.run_task("hello"), timeout=0.01)
    with pytest.raises(UnknownTaskError):
        list(manager.wait_all(["nobody"]))


def test_a_store_that_is_away_is_an_error_and_no_hang(tmp_path: Path) -> None:
    with TaskManager(RedisSettings(url=f"unix://{tmp_path}/nobody"), retries=AT_ONCE) as manager:
        assert not manager.health_check()
        with pytest.raises(StoreUnavailableError):
            manager.run_task("hello")


def test_many_threads_share_one_manager_and_its_one_loop(manager: TaskManager) -> None:
    others = set(threading.enumerate())  # a loop that another test has left may still be ending
    with ThreadPoolExecutor(8) as threads:
        ids = set(threads.map(manager.run_task, (f"text {n}" for n in range(64))))
        assert [thread.name for thread in set(threading.enumerate()) - others].count("holdfast-sync") == 1
    assert len(ids) == manager.queue_length() == 64


def test_nothing_begins_before_the_first_call(redis_settings: RedisSettings) -> None:
    others = set(threading.enumerate())
    with TaskManager(redis_settings):
        assert set(threading.enumerate()) <= others


def test_closing_ends_the_thread_and_is_final(redis_settings: RedisSettings) -> None:
    others = set(threading.enumerate())
    manager = TaskManager(redis_settings)
    manager.run_task("hello")
    manager.close()
    manager.close()
    assert set(threading.enumerate()) <= others
    with pytest.raises(ClosedError):
        manager.run_task("hello")


def test_closing_ends_what_other_threads_wait_for(redis_settings: RedisSettings) -> None:
    manager = TaskManager(redis_settings)
    task_id = manager.run_task("hello")
    records = manager.wait_all([task_id, manager.run_task("over")])
    manager.cancel_task(task_id)
    assert next(records).task_id == task_id  # now it is known to wait
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(next, records)
        manager.close()
        with pytest.raises((ClosedError, StopIteration)):
            waiting.result(PATIENCE)
    with suppress(ClosedError):
        records.close()  # type: ignore[attr-defined]  # it is a generator


def test_the_trace_of_the_caller_travels_with_the_task(manager: TaskManager) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    with TracerProvider().get_tracer("test").start_as_current_span("submit") as span:
        task_id = manager.run_task("hello")
    operation = manager.get_task(task_id).operation or b""
    assert f"{span.get_span_context().trace_id:032x}".encode() in operation


def script(body: str, url: str, queue: str) -> subprocess.Popen[str]:
    head = (
        "import os, signal, sys\n"
        "from holdfast.sync import TaskManager\n"
        "from holdfast_config import RedisSettings\n"
        f"settings = RedisSettings(url={url!r}, queue={queue!r})\n"
    )
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", head + body],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    with process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, out, err


FORKING = """
manager = TaskManager(settings)
manager.run_task("before", task_id="before")
child = os.fork()
if child == 0:
    for n in range(20):
        manager.run_task("in the child", task_id=f"child{n}")
    sys.exit(3)
for n in range(20):
    manager.run_task("in the parent", task_id=f"parent{n}")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
manager.run_task("after", task_id="after")
print(manager.queue_length())
"""


def test_a_forked_child_has_connections_of_its_own(redis_settings: RedisSettings) -> None:
    status, out, err = ended(script(FORKING, redis_settings.url, redis_settings.queue))
    assert (status, out, err) == (0, "3\n42\n", "")


def test_a_child_that_never_calls_leaves_its_parent_alone(redis_settings: RedisSettings) -> None:
    body = FORKING.replace('        manager.run_task("in the child", task_id=f"child{n}")\n', "        pass\n")
    assert ended(script(body, redis_settings.url, redis_settings.queue)) == (0, "3\n22\n", "")


def test_who_forgets_to_close_ends_all_the_same(redis_settings: RedisSettings) -> None:
    body = "manager = TaskManager(settings)\nmanager.run_task('hello')\nprint(manager.queue_length())"
    assert ended(script(body, redis_settings.url, redis_settings.queue)) == (0, "1\n", "")


def test_who_forgets_a_manager_keeps_no_thread(redis_settings: RedisSettings) -> None:
    before = {thread.ident for thread in threading.enumerate()}
    manager = TaskManager(redis_settings)
    manager.run_task("hello")
    [thread] = [thread for thread in threading.enumerate() if thread.ident not in before]
    del manager
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_an_interrupt_ends_a_wait_and_the_manager_goes_on(redis_settings: RedisSettings) -> None:
    body = """
manager = TaskManager(settings)
task_id = manager.run_task("hello")
try:
    print("waiting", flush=True)
    manager.wait(task_id)
except KeyboardInterrupt:
    print(manager.get_task(task_id).state)
manager.close()
"""
    process = script(body, redis_settings.url, redis_settings.queue)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    os.kill(process.pid, signal.SIGINT)
    status, out, err = ended(process)
    assert (status, out, err) == (0, "submitted\n", "")
