"""The page on which a worker notes the tasks that it has begun, for the process that finds the worker dead.

A header and entries of one size. An entry counts while its first byte, the length of the task id, is not 0. A task is
noted by its id first and the length last, one byte: a worker that dies in between has noted nothing, and begun nothing.

The header also has the number of a request, which the steward writes while the worker is silent: the worker begins no
claim of that request or an earlier one any more, so what it has not noted by then can go back and begin elsewhere. The
worker notes a task first and looks at that number then; the steward writes the number first and reads the notes then.
So whenever the worker goes on, either it sees the number or its note is read.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Protocol, overload

SUFFIX = ".begun"  # of the file's name
MAGIC = b"begun 1\n"
INCOMPLETE = len(MAGIC)  # the place of a byte that is not 0 once a task had no entry
HEADER = 64  # bytes: the magic, that byte, the boot of the host, the number of the last revoked request
REVOKED = HEADER - 8  # the place of that number, 8 bytes in the order of this machine
_NONE_REVOKED = bytes(HEADER - REVOKED)
ENTRY = 136  # bytes: the length and an id, of 128 bytes at most


class Buffer(Protocol):
    @overload
    def __setitem__(self, at: int, content: int, /) -> None: ...
    @overload
    def __setitem__(self, at: slice, content: bytes, /) -> None: ...
    def __getitem__(self, at: slice, /) -> bytes | bytearray: ...
    def __len__(self) -> int: ...


def blank(entries: int, boot: str) -> bytes:
    """A page without a note. `boot` names this boot of the host: another one may find the page half written."""
    return _header(boot) + bytes(ENTRY * entries)


def read(page: bytes, boot: str) -> frozenset[str] | None:
    """The tasks that were noted; None where the page does not tell: of another boot, incomplete, or no page."""
    if page[:REVOKED] != _header(boot)[:REVOKED]:
        return None
    entries = (page[at : at + ENTRY] for at in range(HEADER, len(page) - ENTRY + 1, ENTRY))
    return frozenset(entry[1 : 1 + entry[0]].decode(errors="replace") for entry in entries if entry[0])


def revoked(request: int) -> bytes:
    """The number of the last revoked request as the page has it at REVOKED."""
    return request.to_bytes(HEADER - REVOKED, sys.byteorder)


def _header(boot: str) -> bytes:
    return (MAGIC + b"\0" + boot.encode()).ljust(HEADER, b"\0")


@dataclass(slots=True)
class BegunTasks:
    """Notes tasks on a page of the format above; without a page (b"") it notes nothing."""

    page: Buffer = field(default_factory=bytearray)
    _free: list[int] = field(init=False)
    _places: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self._free = list(range(HEADER, len(self.page) - ENTRY + 1, ENTRY))

    def add(self, task_id: str) -> None:
        """Note the task, before anything of it is read or run."""
        if task_id in self._places:
            return
        if not self._free:
            self._overflow()
            return
        place = self._places[task_id] = self._free.pop()
        name = task_id.encode()
        self.page[place + 1 : place + 1 + len(name)] = name
        self.page[place] = len(name)

    def is_revoked(self, claim: str) -> bool:
        """True if the task of this claim is not to begin, as it may have begun elsewhere. Note it before you ask."""
        number = self.page[REVOKED:HEADER]
        if number == _NONE_REVOKED or not number:
            return False
        return int(claim.rpartition(":")[2]) <= int.from_bytes(number, sys.byteorder)

    def remove(self, task_id: str) -> None:
        """The store knows how the task has ended, or it waits again."""
        place = self._places.pop(task_id, None)
        if place is not None:
            self.page[place] = 0
            self._free.append(place)

    def _overflow(self) -> None:
        """From now on the page names too few, so it is not believed."""
        if len(self.page):
            self.page[INCOMPLETE] = 1
