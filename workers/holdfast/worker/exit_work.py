"""Does at the end of a worker what Python does at the end of a program: files are flushed, exit functions run.

A worker ends by `os._exit`, as the code of the process that forked it must not go on in it. So Python's own end of a
program never comes, and what completed tasks have left in a buffer, or given to an exporter, would be lost.

The time is bounded: an exit function that does not return is left behind. Threads are not waited for.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import stat
import sys
import threading
import weakref
from collections.abc import Iterable
from contextlib import suppress
from tempfile import TemporaryDirectory
from types import FrameType
from typing import IO, Any

import structlog

from holdfast.os.signal_handlers import set_handler

LEAST = 0.5  # seconds, also for a worker that is out of time; the parent kills it a second after its deadline
SHARE_OF_SILENCE = 0.5  # of the time after which the parent takes a worker that says nothing for hung

_ANY_FILE: Any = io.IOBase.__base__  # its class is `type`: to compare with it calls nothing of the user's

_kept: list[weakref.ref[IO[Any]]] = []

_log = structlog.get_logger("holdfast.worker")


def do_exit_work(status: int, seconds: float) -> None:
    """Flush files, run the exit functions, flush what they wrote. After `seconds` (LEAST at least) the process ends
    with `status`."""
    over = threading.Event()
    with suppress(RuntimeError):  # no thread can be started: the parent bounds it
        threading.Thread(target=_end_late, args=(over, status, max(LEAST, seconds)), daemon=True).start()
    with suppress(ValueError):  # this is not the main thread
        for number in (signal.SIGTERM, signal.SIGINT):
            set_handler(number, _told_already)
    flush_files()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  # there is no public name; it raises nothing
    flush_files()
    over.set()


def seconds_for(left: float, hang_timeout: float) -> float:
    """The seconds that exit work may take where `left` are left of a drain."""
    return min(left, hang_timeout * SHARE_OF_SILENCE)


def flush_files() -> None:
    """Flush all open files of this process; those on a disk first, as the reader of a pipe may not read."""
    for file in sorted(_open_files(), key=_may_wait):
        with suppress(Exception):  # one that cannot be written keeps no other
            file.flush()


def share_import() -> None:
    """Prepare what the import of the handler has opened for the workers that share it.

    What it has written is written once, and no temporary folder of all workers is removed at the end of one.
    """
    flush_files()
    _kept[:] = [weakref.ref(file) for file in _open_files()]  # frozen soon, and not found any more
    registered: Iterable[Any] = getattr(weakref.finalize, "_registry", ())
    for finalizer in list(registered):
        if (called := finalizer.peek()) is not None and type(called[0]) is TemporaryDirectory:
            finalizer.atexit = False


def _open_files() -> list[IO[Any]]:
    found = [each for each in gc.get_objects() if issubclass(type(each), _ANY_FILE)]
    found += [file for ref in _kept if (file := ref()) is not None]
    return [file for file in found if _is_open(file)]


def _is_open(file: IO[Any]) -> bool:
    try:
        return not file.closed and file.writable()
    except Exception:  # torn, or of a class that fails
        return False


def _may_wait(file: IO[Any]) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except Exception:  # it has no descriptor: what it writes to may have one
        return True


def _end_late(over: threading.Event, status: int, seconds: float) -> None:
    if over.wait(seconds):
        return
    _log.error("exit functions did not end in time: the process ends without them", seconds=round(seconds, 1))
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(status)


def _told_already(_number: int, _frame: FrameType | None) -> None:
    """The process ends as it is; a function, unlike SIG_IGN, is not inherited by programs."""
