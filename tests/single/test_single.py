"""SCHEDULER_TYPE=memory: worker and steward in one process, for tasks that its own program submits."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import Answer, Cli
from tests.single.process import single

BEGIN = """
import asyncio, os, time
from collections.abc import AsyncIterator
from holdfast import Handlers, Retry, create_broker

async def begin():
    try:
        async with create_broker() as broker:
            manager = broker.manager
{submits}
    except Exception as error:
        print(error)
"""
END = """

answer, handle = handle, Handlers()
handle.default(answer)

@handle.lifespan
async def submitting() -> AsyncIterator[None]:
    task = asyncio.create_task(begin())
    yield
    task.cancel()
"""


def program(handler: str, *submits: str) -> str:
    """A module whose lifespan begins a coroutine that submits, and whose handler is this."""
    return BEGIN.format(submits="\n".join(f"            {line}" for line in submits)) + handler + END


def test_its_own_tasks_run_at_once_delayed_and_again(tmp_path: Path) -> None:
    handler = """
async def handle(messages, task):
    text = messages[-1]["parts"][0]["text"]
    if text == "again" and task.attempts == 0:
        raise Retry(after=0.1)
    print("ran", text, task.attempts)
    return text
"""
    submits = (
        "ids = [await manager.run_task(str(number)) for number in range(120)]",
        "ids.append(await manager.run_task('again'))",
        "ids.append(await manager.run_task('later', delay=0.2))",
        "states = {str((await manager.wait(task_id)).state) for task_id in ids}",
        "print('states', states)",
    )
    with single(tmp_path, program(handler, *submits), "--no-capture-output") as service:
        told = service.until("states")
        assert "states {'completed'}" in told
        assert sorted(
            line for line in told.splitlines() if line.startswith("ran") and not line.split()[1].isdigit()
        ) == [
            "ran again 1",
            "ran later 0",
        ]
        assert "nothing is kept" in told
        assert not psutil.Process(service.process.pid).children()
        service.send(signal.SIGTERM)
        status, rest = service.ended()
    assert (status, "lost" in rest) == (0, False)


SLOW = """
async def handle(messages):
    print("began")
    {body}
    print("finished")
"""


def test_a_signal_lets_a_running_task_finish_and_tells_what_is_lost(tmp_path: Path) -> None:
    handler = SLOW.format(body="await asyncio.sleep(0.5)")
    submits = ("await manager.run_task('x')", "await manager.run_task('y', delay=1000)")
    with single(tmp_path, program(handler, *submits), "--no-capture-output") as service:
        service.until("began")
        service.send(signal.SIGTERM)
        status, rest = service.ended()
    assert status == 0
    assert "finished" in rest
    assert "1 task is lost with the memory" in rest


def test_a_second_signal_cancels_and_the_exit_says_so(tmp_path: Path) -> None:
    handler = SLOW.format(body="await asyncio.sleep(1000)")
    with single(tmp_path, program(handler, "await manager.run_task('x')")) as service:
        service.until("began")
        service.send(signal.SIGINT)
        service.until("a second Ctrl-C")
        service.send(signal.SIGINT)
        status, rest = service.ended()
    assert (status, "finished" in rest) == (75, False)


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_a_thread_that_does_not_stop_does_not_keep_it(tmp_path: Path, number: int) -> None:
    handler = """
def handle(messages):
    print("began")
    time.sleep(1000)
"""
    with single(tmp_path, program(handler, "await manager.run_task('x')"), "--drain-timeout", "0.2") as service:
        service.until("began")
        service.send(number)
        assert service.ended()[0] == 75


def test_systemd_hears_of_it(tmp_path: Path, short_path: Path) -> None:
    handler = "\nasync def handle(messages): ...\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(short_path / "notify"))
        heard.settimeout(60)
        environ = {"NOTIFY_SOCKET": str(short_path / "notify"), "WATCHDOG_USEC": "300000"}
        with single(tmp_path, handler, **environ) as service:
            told: set[bytes] = set()
            while not {b"READY=1", b"WATCHDOG=1"} <= told:
                told |= set(heard.recv(4096).split(b"\n"))
            service.send(signal.SIGTERM)
            while b"STOPPING=1" not in told:
                told |= set(heard.recv(4096).split(b"\n"))
            assert service.ended()[0] == 0


REFUSED = {
    "--workers 2": "other processes would not see it",
    "--reload": "a reload would lose it",
    "--burst": "it is empty at the start, and nobody else can submit",
    "--max-tasks 5": "a successor would not see it",
    "--max-memory 1GB": "a successor would not see it",
}
COMMANDS = ["start", "check", "start", "check", "start"]


@pytest.mark.parametrize(("flags", "command"), list(zip(REFUSED, COMMANDS, strict=True)))
def test_what_needs_more_than_one_process_is_refused_with_the_reason(tmp_path: Path, flags: str, command: str) -> None:
    answer = supervisor(tmp_path, command, *flags.split())
    assert answer.status == 78
    assert f"{REFUSED[flags]}; leave {flags.split()[0]} out" in answer.err


def test_a_handler_that_cannot_be_imported_ends_it(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import nothing_of_this_name\n")
    answer = supervisor(tmp_path, "start")
    assert answer.status == 78
    assert "nothing_of_this_name" in answer.err


def test_another_queue_than_the_one_served_is_refused(tmp_path: Path) -> None:
    begin = program("\nasync def handle(messages): ...\n", "pass")
    named = begin.replace("create_broker()", "create_broker(queue_name='bindu:tasks')")
    with single(tmp_path, named, "--queue-name", "other:queue") as service:
        service.until("this worker serves queue other:queue in memory, not bindu:tasks")
        service.send(signal.SIGTERM)


def test_commands_that_ask_the_store_say_that_nobody_else_can(tmp_path: Path) -> None:
    for command in (["submit", "x"], ["queue", "length"], ["tasks", "list"]):
        answer = supervisor(tmp_path, *command)
        assert (answer.status, "only inside its own process" in answer.err) == (78, True)


def test_check_and_doctor_look_for_no_server(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("async def handle(messages): ...\n")
    assert "memory://" in supervisor(tmp_path, "check").out
    assert "the queue is in the memory of one process" in supervisor(tmp_path, "doctor", "--all").out


def supervisor(folder: Path, *arguments: str) -> Answer:
    if not (folder / "agent.py").exists():
        (folder / "agent.py").write_text("async def handle(messages): ...\n")
    environ = {
        "SCHEDULER_TYPE": "memory",
        "HOLDFAST_STATE_DIR": str(folder / "s"),
        "HOLDFAST_RUNTIME_DIR": str(folder / "r"),
    }
    return Cli(folder, environ=environ)(*arguments)
