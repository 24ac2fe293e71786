"""Reads a command's output within bounds: its result on standard output, remarks on standard error."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.handler.failures import bounded

LINE_BYTES = 1024  # of a line of standard error, in the log
TAIL_BYTES = 4096  # of standard error, kept with a failure


class CommandResult:
    """Standard output, whole. Longer than `most` bytes, it is dropped, and `on_excess` called once."""

    def __init__(self, most: int, on_excess: Callable[[], None]) -> None:
        self._most = most
        self._on_excess = on_excess
        self._raw = bytearray()
        self.excessive = False

    def take(self, chunk: bytes) -> None:
        if self.excessive:
            return
        self._raw += chunk
        if len(self._raw) > self._most:
            self.excessive = True
            self._raw.clear()
            self._on_excess()

    @property
    def raw(self) -> bytes:
        return bytes(self._raw)


class Remarks:
    """Standard error: each line is handed to `log` as it ends, the last TAIL_BYTES are kept."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._line = bytearray()
        self._tail = bytearray()

    def take(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            self.finish()
        self._add(rest)

    def finish(self) -> None:
        """Log the line, even if it has no end."""
        if line := _text(self._line).strip():
            self._log(line)
        self._line.clear()

    @property
    def tail(self) -> str:
        return bounded(_text(self._tail), TAIL_BYTES)

    @property
    def last_line(self) -> str:
        """The last line that is not empty; empty if there is none."""
        return next(iter(self.tail.rstrip().splitlines()[::-1]), "").strip()

    def _add(self, part: bytes) -> None:
        self._line += part[: LINE_BYTES - len(self._line)]


def _text(raw: bytes | bytearray) -> str:
    return raw.decode(errors="replace")
