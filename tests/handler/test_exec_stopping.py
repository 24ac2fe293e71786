"""The end of a command: asked, then killed, with all that it has started; nothing is left when its run is over."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from holdfast.core.outcomes import Completed, Outcome, Raised
from holdfast.handler.task import Task
from tests.faults.kin import wait_dead
from tests.handler.deliveries import delivery_of, document, run_handler
from tests.handler.programs import Ear, parts_of, run_shell, shell

pytestmark = pytest.mark.anyio


@pytest.fixture
def ear(short_path: Path) -> Iterator[Ear]:
    opened = Ear(short_path)
    yield opened
    opened.close()


@asynccontextmanager
async def cancelled_after(script: str, task: Task | None = None, **options: Any) -> AsyncIterator[None]:
    """The script is started; when the block has ended it is cancelled, and over."""
    delivery = delivery_of()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_handler(shell(script, **options), delivery, task=task or Task(delivery)))
        yield
        group.cancel_scope.cancel()


async def test_cancelled_its_whole_group_is_asked_to_end(ear: Ear) -> None:
    async with cancelled_after(f"sleep 1000 & echo $$ $! >{ear.path}; wait"):
        pids = await ear.pids()
    wait_dead(*pids)


async def test_who_does_not_end_when_asked_is_killed_after_the_grace(ear: Ear) -> None:
    async with cancelled_after(f"trap '' TERM; echo $$ >{ear.path}; while :; do sleep 1000; done", grace=0.05):
        pids = await ear.pids()
    wait_dead(*pids)


async def test_a_stopped_command_hears_that_it_shall_end(ear: Ear) -> None:
    script = f"trap 'echo heard >{ear.path}; exit 1' TERM; echo $$ >{ear.path}; while :; do sleep 0.01; done"
    async with cancelled_after(script):
        (pid,) = await ear.pids()
        _stop(pid)
    assert await ear.line() == "heard"


async def test_asked_to_end_it_may_save_a_checkpoint(ear: Ear) -> None:
    task = Task(delivery_of())
    script = f"trap 'echo 42; exit 75' TERM; echo ready >{ear.path}; sleep 1000 & wait"
    async with cancelled_after(script, task):
        await ear.line()
    assert task.notes.checkpoint == b"42"


async def test_asked_to_end_its_result_no_longer_counts(ear: Ear) -> None:
    task = Task(delivery_of())
    async with cancelled_after(f"trap 'echo 42; exit 0' TERM; echo ready >{ear.path}; sleep 1000 & wait", task):
        await ear.line()
    assert task.notes.checkpoint is None


async def test_out_of_time_it_is_ended_and_so_is_the_attempt(ear: Ear) -> None:
    script = f"echo $$ >{ear.path}; sleep 1000"
    outcome = await run_shell(script, timeout=0.2)
    assert isinstance(outcome, Raised)
    assert outcome.failure.type == "TaskTimeout"
    wait_dead(*await ear.pids())


async def test_what_it_leaves_in_the_background_may_finish_its_last_word() -> None:
    assert await parts_of("(sleep 0.1; echo late) & echo early") == ["early\nlate"]


async def test_what_it_leaves_in_the_background_ends_with_it(ear: Ear) -> None:
    for redirected in ("", ">/dev/null 2>&1 </dev/null"):
        script = f"sleep 1000 {redirected} & echo $! >{ear.path}; echo done"
        outcome = await run_handler(shell(script, linger=0.05))
        assert document(outcome)["parts"][0]["text"] == "done"
        wait_dead(*await ear.pids())


async def test_of_two_that_run_at_once_one_is_cancelled_and_the_other_goes_on(ear: Ear) -> None:
    outcomes: list[Outcome] = []
    other = delivery_of()
    go = ear.path.with_name("go")
    os.mkfifo(go)

    async def stay() -> None:
        outcomes.append(await run_shell(f"echo in >{ear.path}; read line <{go}; echo $line", other, task=Task(other)))

    async with anyio.create_task_group() as group:
        group.start_soon(stay)
        assert await ear.line() == "in"
        async with cancelled_after(f"echo $$ >{ear.path}; sleep 1000"):
            pids = await ear.pids()
        wait_dead(*pids)
        go.write_text("gone\n")
    assert isinstance(outcomes[0], Completed)


async def test_cancelled_at_once_nothing_is_left_of_it(ear: Ear) -> None:
    before = _children()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run_handler(shell(f"echo $$ >{ear.path}; sleep 1000"), delivery_of())
    assert _children() <= before


async def test_runs_leave_neither_descriptors_nor_processes() -> None:
    before, children = _descriptors(), _children()
    for script in ("echo hello", "exit 3", "kill -KILL $$", "sleep 1000 >&- 2>&- & exec >&- 2>&-"):
        for _ in range(5):
            await run_shell(script)
    assert _descriptors() == before
    assert _children() <= children


async def test_where_a_process_has_no_descriptor_a_thread_waits_for_it(ear: Ear) -> None:
    def none_left(_: int) -> int:
        raise OSError

    assert isinstance(await run_handler(shell("echo hello", pidfd=none_left)), Completed)
    async with cancelled_after(f"echo $$ >{ear.path}; sleep 1000", pidfd=none_left):
        pids = await ear.pids()
    wait_dead(*pids)


def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _children() -> set[psutil.Process]:
    """Of this process; servers that other tests share may be among them."""
    return set(psutil.Process().children())
