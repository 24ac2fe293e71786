"""The stacks of a worker: of the tasks that it runs, of its other asyncio tasks, and of its threads.

SIGUSR2 writes the stacks to a file in memory that only the worker's user can read, and SIGUSR1 writes them to the log.
The stacks of threads are written at once, even while the event loop hangs. The stacks of tasks follow when the main
thread next runs Python code. While the main thread is busy in a library that is not written in Python, the stacks of
tasks are missing.
"""

from __future__ import annotations

import asyncio
import faulthandler
import fcntl
import linecache
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.os.forked_copy import set_handler
from holdfast_config.standard_error import STREAM

NAME = "holdfast-stacks"
MOST_BYTES = 4 << 20  # that `read` returns
MOST_TASKS = 200
MOST_FRAMES = 60  # of one task, the innermost
LONGEST_LINE = 200  # characters of a line of code
TASKS = b"\nTasks: "  # behind the stacks of the threads
_OWN = tuple(f"{folder}{os.sep}" for folder in (Path(asyncio.__file__).parent, Path(__file__).parents[1]))
_LIBRARIES = ("/anyio/", "/sniffio/")


class StackFrame(msgspec.Struct, frozen=True):
    """A line of a stack. `is_own`: the line is in Holdfast's code or in the event loop, and not in the handler's
    code."""

    function: str
    file: str
    line: int
    code: str
    is_own: bool


class TaskStack(msgspec.Struct, frozen=True):
    """The stack of an asyncio task, outermost frame first. `task_id`, `handler`, `seconds`: the task of the queue that
    it runs or belongs to, its handler, and how long it has run; empty for a part of the worker. `name`: the name of an
    asyncio task that a handler has started; empty for the one that runs the handler itself."""

    task_id: str
    handler: str
    seconds: float
    name: str
    frames: list[StackFrame]

    @property
    def title(self) -> str:
        words = f"task {self.task_id}, handler {self.handler or '(default)'}, for {self.seconds:.1f} s"
        return f"{words}, its asyncio task {self.name}" if self.name else words

    @property
    def text(self) -> str:
        lines = [f'  File "{each.file}", line {each.line}, in {each.function}\n    {each.code}' for each in self.frames]
        return "\n".join([f"{self.title[:1].upper()}{self.title[1:]} (most recent call last):", *lines])


class Stacks(msgspec.Struct, frozen=True):
    """`threads`: the stacks of the threads as text. `tasks`: None while the worker has not written them."""

    threads: str
    tasks: list[TaskStack] | None


_tellers: list[Callable[[FrameType | None], list[TaskStack]]] = []  # the last one tells the stacks of tasks
_file: list[int] = []
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[TaskStack]).decode


def register() -> None:
    """Have SIGUSR1 and SIGUSR2 write the stacks of this process, to the log and to its stack file."""
    descriptor = os.memfd_create(NAME)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)  # so that writing begins at the start of an emptied file
    _file[:] = [descriptor]
    for number, target, then in ((signal.SIGUSR1, STREAM.descriptor(), _log), (signal.SIGUSR2, descriptor, _keep)):
        set_handler(number, then)  # `signal.signal` would call methods of a handler that the user has set
        faulthandler.register(number, file=target, all_threads=True, chain=True)


def tell(tasks: Callable[[FrameType | None], list[TaskStack]]) -> None:
    """From now on, `tasks` gives the stacks of the running tasks. It gets the frame that the signal interrupted."""
    _tellers[:] = [tasks]


def _keep(_: int, here: FrameType | None) -> None:
    with suppress(Exception):  # a signal handler may raise into any line of the worker
        os.write(_file[0], TASKS + _encode(_tasks(here)))


def _log(_: int, here: FrameType | None) -> None:
    with suppress(Exception):
        for text in texts_of(_tasks(here)):
            STREAM.write(f"{text}\n".encode(errors="replace"))


def texts_of(found: Sequence[TaskStack]) -> Iterator[str]:
    """The stacks of the tasks of the queue as texts, then the names of the worker's own asyncio tasks in one line."""
    yield from (each.text for each in found if each.task_id)
    if own := ", ".join(each.name for each in found if not each.task_id):
        yield f"Asyncio tasks of the worker itself: {own}"


def _tasks(here: FrameType | None) -> list[TaskStack]:
    return _tellers[0](here)[:MOST_TASKS] if _tellers else []


# Read the stack of a task: a coroutine that waits knows which coroutine it awaits.


def frames_of(task: asyncio.Task[Any], here: FrameType | None) -> list[StackFrame]:
    """The stack of an asyncio task, outermost frame first. `here`: the frame that runs now, which may be of this
    task."""
    awaited, running = list(_awaited(task.get_coro())), list(_callers(here))
    if awaited and awaited[0] in running:
        awaited = running[running.index(awaited[0]) :: -1]
    return [_frame(each) for each in awaited[-MOST_FRAMES:]]


def _awaited(waiting: Any) -> Iterator[FrameType]:
    for _ in range(10 * MOST_FRAMES):
        frame = next((got for each in ("cr", "gi", "ag") if (got := getattr(waiting, f"{each}_frame", None))), None)
        if frame is None:
            return
        yield frame
        waits = ("cr_await", "gi_yieldfrom", "ag_await")
        waiting = next((got for each in waits if (got := getattr(waiting, each, None)) is not None), None)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _frame(frame: FrameType) -> StackFrame:
    file, line = frame.f_code.co_filename, frame.f_lineno
    code = linecache.getline(file, line, frame.f_globals).strip()[:LONGEST_LINE]
    is_own = file.startswith(_OWN) or any(each in file for each in _LIBRARIES)
    return StackFrame(frame.f_code.co_qualname, file, line, code, is_own)


# Reads the stack file of another process.


def of_process(pid: int) -> Path | None:
    """The path of a process's stack file in /proc; None if it has none. Raises OSError if the process is gone or
    belongs to another user."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if str(link.readlink()).startswith(f"/memfd:{NAME}"):
                return link
        except FileNotFoundError:  # it was closed meanwhile
            continue
    return None


def read(path: Path) -> Stacks:
    """The stacks in the file. These are only the stacks of the last SIGUSR2 if the file was emptied before the
    signal."""
    with path.open("rb") as file:
        threads, found, tasks = file.read(MOST_BYTES).partition(TASKS)
    text = threads.decode("utf-8", "replace")
    try:
        return Stacks(text, _decode(tasks) if found else None)
    except UNREADABLE_JSON:  # it is still being written, or longer than MOST_BYTES
        return Stacks(text, None)
