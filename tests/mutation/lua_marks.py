"""Marks which lines of the scripts run.

A script in a server reaches no memory but the server's, so that its marks go through the server's log. The store in
memory runs scripts inside the process; there the marks go to the shared mapping at once.
"""

from __future__ import annotations

import fcntl
import re
import struct
import subprocess
import termios
import time
from pathlib import Path

from tests import servers
from tests.mutation.line_marks import Marks
from tests.mutation.lua_operators import beginnings
from tests.mutation.tree_copy import TreeCopy

BASE = "workers/holdfast/store/lua/shared/base.lua"  # which every script begins with
_MARK = """local RAN_SEEN__ = {}
local function RAN__(place)
  if RAN_SEEN__[place] then return end
  RAN_SEEN__[place] = true
  if redis.log then return redis.log(redis.LOG_WARNING, 'ran ' .. place) end
  python.eval([[lambda place: __import__("builtins").__ran__.__setitem__(int(place), 1)]])(place)
end
"""
_RAN = re.compile(r" ran (\d+)$")
_SETTLED = 0.003  # seconds that a thread needs for what it has taken out of a pipe


def mark_scripts(copy: TreeCopy, marks: Marks) -> None:
    for file, first in marks.first.items():
        if file.endswith(".lua") and file != "workers/holdfast/store/memory/beneath.lua":
            marked = with_marks(file, (copy.folder / file).read_bytes(), first)
            copy.write(file, marked + _MARK.encode() if file == BASE else marked)


def with_marks(file: str, text: bytes, first: int) -> bytes:
    for line, start in sorted(beginnings(file, text).items(), reverse=True):
        text = text[:start] + b"RAN__(%d) " % (first + line) + text[start:]
    return text


class ServerLogs:
    """Reads the logs of the servers that the tests start, in place of the thread that only keeps them."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._open: list[subprocess.Popen[str]] = []
        servers._copy = self._read  # all logs go through it

    def settle(self) -> None:
        """Wait until all that the servers have written is read."""
        while any(_waiting(process) for process in self._open):
            time.sleep(_SETTLED)
        if self._open:
            time.sleep(_SETTLED)

    def _read(self, process: subprocess.Popen[str], path: Path) -> None:
        assert process.stdout is not None
        self._open.append(process)
        with path.open("w") as log:
            for line in process.stdout:
                if ran := _RAN.search(line):
                    self._marks.ran[int(ran[1])] = 1
                else:
                    log.write(line)
        self._open.remove(process)


def _waiting(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    try:
        return int(struct.unpack("i", fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, b"\0" * 4))[0])
    except (OSError, ValueError):  # closed meanwhile
        return 0
