"""Applications that leave work to the end of their process, in the folder NOTES_FOLDER of the environment."""

from __future__ import annotations

import atexit
import gzip
import os
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

FOLDER = Path(os.environ.get("NOTES_FOLDER", "."))
AT_IMPORT = (FOLDER / "at-import").open("a", encoding="utf-8")
AT_IMPORT.write("imported\n")
SHARED = TemporaryDirectory(dir=FOLDER, prefix="shared-")
_opened: dict[str, Any] = {}

atexit.register(lambda: (FOLDER / f"exit-{os.getpid()}").touch())


def _file(name: str) -> IO[Any]:
    if name not in _opened:
        path = FOLDER / name
        is_packed = name.endswith(".gz")
        _opened[name] = (gzip.open if is_packed else open)(path, "at", encoding="utf-8")
    file: IO[Any] = _opened[name]
    return file


async def note(messages: list[dict[str, Any]]) -> int:
    """Writes to files that nobody closes."""
    for name in ("notes", "notes.gz"):
        _file(name).write(f"{messages[-1]['content']}\n")
    AT_IMPORT.write(f"{messages[-1]['content']}\n")
    assert os.path.isdir(SHARED.name)  # noqa: ASYNC240, PTH112 - at once
    return os.getpid()


async def note_last(messages: list[dict[str, Any]]) -> int:
    """The exit function writes to a file, also."""
    atexit.register(lambda: _file("notes").write("the end\n"))
    return await note(messages)


async def never_end(messages: list[dict[str, Any]]) -> int:
    """An exit function that does not return."""
    atexit.register(threading.Event().wait)
    return await note(messages)


async def fail_late(messages: list[dict[str, Any]]) -> int:
    """An exit function that fails, and a file that cannot be written any more."""

    def fail() -> None:
        raise SystemExit("of an exit function")

    if "full" in _opened:
        return await note(messages)
    atexit.register(fail)
    _opened["full"] = full = open("/dev/full", "w", encoding="utf-8")  # noqa: ASYNC230, PTH123, SIM115 - left open
    full.write("lost")
    reading, writing = os.pipe()
    os.set_blocking(writing, True)
    _opened["pipe"] = (os.fdopen(reading, "rb"), pipe := os.fdopen(writing, "wb", buffering=1 << 20))
    pipe.write(bytes(1 << 18))  # more than a pipe takes: its flush never ends
    return await note(messages)
