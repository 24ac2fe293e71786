"""Does at the end of a worker what Python does at the end of a program: runs exit functions and closes files.

A worker ends by `os._exit`, because it is a forked process and must not go on with the code of its parent. So Python's
usual end of a program never comes, and data of completed tasks in a buffer or an exporter would be lost.

Python closes open files when they are garbage-collected, the outermost first: a text file, then the compressed file
inside, then the file on the disk. Only `close` writes the end of a compressed file or the table of an archive. A few
classes of the standard library that are no files also close themselves in this way. They are listed here. `__del__` of
other objects is not called, because nobody knows what it does or how long it takes.

The time is bounded: an exit function that does not return is left behind. This does not wait for threads.
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
import types
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import TemporaryDirectory
from types import FrameType
from typing import IO, Any

from holdfast.os.forked_copy import set_handler
from holdfast_config import library_log
from holdfast_config.standard_error import STDERR

LEAST = 0.5  # seconds, also for a worker that is out of time; the parent kills it a second after its deadline
MOST_LOOKED_AT = 100_000  # objects that are searched for files inside other files
SHARE_OF_SILENCE = 0.5  # of the time after which the parent counts a silent worker as hung

_ANY_FILE: Any = io.IOBase.__base__  # its class is `type`, so a comparison with it calls no code of the user's

_CLOSED_WHEN_FORGOTTEN = {  # by their modules; each of their `close` may be called twice
    "zipfile": "ZipFile",
    "tarfile": "_Stream",
    "shelve": "Shelf",
    "dbm.dumb": "_Database",
    "wave": "Wave_write",
    "aifc": "Aifc_write",
    "sunau": "Au_write",
    "tempfile": "_TemporaryFileWrapper",
}
_NO_OWNERS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.FrameType, types.CodeType)

_kept: list[weakref.ref[IO[Any]]] = []

_log = library_log.get_logger("holdfast.worker")


def do_exit_work(status: int, seconds: float) -> None:
    """Flush files, run the exit functions, close files. After `seconds` (at least LEAST) the process ends with
    `status`, even if exit functions still run."""
    over = threading.Event()
    with suppress(RuntimeError):  # if no thread can be started, the parent bounds the time
        threading.Thread(target=_end_late, args=(over, status, max(LEAST, seconds)), daemon=True).start()
    with suppress(ValueError):  # this is not the main thread
        for number in (signal.SIGTERM, signal.SIGINT):
            set_handler(number, _told_already)
    flush_files()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  # there is no public name; it raises nothing
    close_files()
    over.set()


def seconds_for(left: float, hang_timeout: float) -> float:
    """The seconds that exit work may take if `left` seconds remain of a drain."""
    return min(left, hang_timeout * SHARE_OF_SILENCE)


def flush_files() -> None:
    """Flush all open files of this process. Files on a disk come first: to flush a full pipe blocks while nobody reads
    it."""
    for file in sorted(_open_files(), key=_may_wait):
        with suppress(BaseException):  # a file that cannot be written does not hinder the others
            file.flush()


def close_files() -> None:
    """Close all files that are open for writing. Outer files are closed first, and files on a disk before files whose
    reader may keep the process waiting. Standard streams are only flushed, because the process still goes on a
    little."""
    for file in _Order([*_open_files(), *_closed_when_forgotten()]).files:
        with suppress(BaseException):  # as above
            if _is_standard(file):
                file.flush()
            else:
                file.close()


def share_import() -> None:
    """Prepare objects that the handler's import has opened for the workers that share them.

    Buffered data is written once, and the end of one worker removes no temporary folder that all share.
    """
    flush_files()
    _kept[:] = [weakref.ref(file) for file in _open_files()]  # `gc.freeze` will hide them from `gc.get_objects`
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
    except BaseException:  # the object is half made, or its class fails
        return False


def _closed_when_forgotten() -> list[Any]:
    named = ((sys.modules.get(module), name) for module, name in _CLOSED_WHEN_FORGOTTEN.items())
    kinds = tuple(kind for module, name in named if isinstance(kind := getattr(module, name, None), type))
    return [each for each in gc.get_objects() if issubclass(type(each), kinds)] if kinds else []


class _Order:
    """The order of closing: an outer file before the files inside it; independent files on a disk before others."""

    def __init__(self, files: list[Any]) -> None:
        self._known = {id(file): file for file in files}
        self._looks = MOST_LOOKED_AT
        self._waits: dict[int, bool] = {}
        self._innermost_first: list[Any] = []
        for file in files:
            self._visit(file)
        self._innermost_first.reverse()
        self.files = sorted(self._innermost_first, key=lambda file: self._waits[id(file)])

    def _visit(self, file: Any) -> bool:
        """True if this file, or a file inside of it, may block because nobody reads it."""
        if id(file) not in self._waits:
            self._waits[id(file)] = False  # ends a cycle of files
            inside = [self._visit(each) for each in list(self._inside(file))]
            self._waits[id(file)] = any(inside) if inside else _may_wait(file)
            self._innermost_first.append(file)
        return self._waits[id(file)]

    def _inside(self, file: Any) -> Iterator[Any]:
        """The other files that this file holds. Files inside of such a file are not included."""
        seen = {id(file)}
        level: list[Any] = [file]
        while level and self._looks > 0:
            held = gc.get_referents(*level)
            self._looks -= len(held)
            level = []
            for each in held:
                if id(each) in seen or issubclass(type(each), _NO_OWNERS):
                    continue
                seen.add(id(each))
                if id(each) in self._known:
                    yield each
                else:
                    level.append(each)


def _may_wait(file: Any) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except BaseException:  # it has no descriptor, but may write to a file that has one
        return True


def _is_standard(file: Any) -> bool:
    try:
        return bool(file.fileno() <= STDERR)
    except BaseException:  # it has no descriptor
        return False


def _end_late(over: threading.Event, status: int, seconds: float) -> None:
    if over.wait(seconds):
        return
    _log.error("exit functions did not end in time: the process ends without them", seconds=round(seconds, 1))
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(status)


def _told_already(_number: int, _frame: FrameType | None) -> None:
    """Ignore a signal, because the process already ends. This is a function and not SIG_IGN, because programs that the
    process executes would inherit SIG_IGN."""
