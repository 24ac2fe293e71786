"""The page of a worker: a file in which the worker notes the tasks that it has begun. If the worker dies or is silent,
the steward reads the page.

A note is about a delivery, and a worker may own two deliveries of one task: the store may answer the report of the
first delivery with the claim of the second one. The second delivery has not begun until the worker has read this
answer. So a note says which claim counts:

- While a handler runs, its task counts under every claim. The store may have lost writes and given this worker the task
  again: then the same handler goes on under the new claim, even before the worker has read it.
- Once the handler has ended, the task counts only under the claim of its outcome, until the store has the outcome.

The page is a header and entries of one size. An entry counts while its first byte, the length of the task id, is not 0.
The claim of an entry counts while the byte before it, the claim's length, is not 0. The worker writes id and claim
first, and their lengths last, one byte each. If a worker dies in between, its entry does not count, and a task without
an entry has not begun.

The header also has the number of a request. The steward writes this number while the worker is silent. From then on the
worker begins no task that was claimed by this request or an earlier one. So the steward can put back tasks without a
note, and they can begin elsewhere. The worker first notes a task, then looks at the number. The steward first writes
the number, then reads the notes. So if the worker goes on, either the worker sees the number, or the steward sees the
note.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmap import mmap

SUFFIX = ".begun"  # of the file's name
MAGIC = b"begun 1\n"
INCOMPLETE = len(MAGIC)  # the place of a byte that is not 0 once the page had no room for a task
HEADER = 64  # bytes: the magic, the byte INCOMPLETE, the boot of the host, the number of the last revoked request
REVOKED = HEADER - 8  # the place of the number of the last revoked request: 8 bytes in this machine's byte order
_NONE_REVOKED = bytes(HEADER - REVOKED)
CLAIM = 129  # the place of the claim's length in an entry: behind the id's length and an id of 128 bytes at most
ENTRY = 216  # bytes: the rest is for the claim
RUNS = ""  # stands in place of a claim while the handler runs


def blank(entries: int, boot: str) -> bytes:
    """A page without a note. `boot` is the id of this boot of the host: after another boot, the page may be half
    written."""
    return _header(boot) + bytes(ENTRY * entries)


def read(page: bytes, boot: str) -> dict[str, str] | None:
    """The tasks that are noted on the page. For each id: the claim under which the task has ended, or RUNS if it has
    not ended. None if the page cannot be used: it is missing, incomplete, or from another boot of the host."""
    if page[:REVOKED] != _header(boot)[:REVOKED]:
        return None
    entries = (page[at : at + ENTRY] for at in range(HEADER, len(page) - ENTRY + 1, ENTRY))
    return {_text(entry, 0): _text(entry, CLAIM) for entry in entries if entry[0]}


def revoked(request: int) -> bytes:
    """The bytes to write at offset REVOKED of the page. `request`: the number of the last revoked request."""
    return request.to_bytes(HEADER - REVOKED, sys.byteorder)


def _text(entry: bytes, at: int) -> str:
    return entry[at + 1 : at + 1 + entry[at]].decode(errors="replace")


def _header(boot: str) -> bytes:
    return (MAGIC + b"\0" + boot.encode()).ljust(HEADER, b"\0")


@dataclass(slots=True)
class BegunTasks:
    """A worker's notes on a page of the format above. Without a page (b""), nothing is noted.

    A task keeps its place and its id on the page until it is removed: `hide` and `add` change only one byte of the
    entry.
    """

    page: bytearray | mmap = field(default_factory=bytearray)
    _free: list[int] = field(init=False)
    _places: dict[str, int] = field(default_factory=dict[str, int])
    _ended: dict[str, str] = field(default_factory=dict[str, str])  # task id → claim of the outcome

    def __post_init__(self) -> None:
        self._free = list(range(HEADER, len(self.page) - ENTRY + 1, ENTRY))

    def add(self, task_id: str) -> None:
        """Record that the task runs. The worker calls this before it reads or calls anything of the task."""
        place = self._places.get(task_id)
        if place is None:
            if not self._free:
                self._overflow()
                return
            place = self._places[task_id] = self._free.pop()
            self.page[place + 1 : place + 1 + len(task_id)] = task_id.encode()
        elif task_id in self._ended:
            self._run_again(task_id, place)
        self.page[place] = len(task_id)  # an id is ASCII

    def hide(self, task_id: str) -> None:
        """Record that the handler was not called yet, or will not be called."""
        place = self._places.get(task_id)
        if place is not None:
            self.page[place] = 0

    def end(self, task_id: str, claim: str) -> None:
        """Record that the handler has ended, and that its outcome is on its way under this claim."""
        place = self._places.get(task_id)
        if place is not None:
            at, name = place + CLAIM, claim.encode()
            self.page[at + 1 : at + 1 + len(name)] = name
            self.page[at] = len(name)
            self._ended[task_id] = claim

    def is_revoked(self, claim: str) -> bool:
        """True if the task of this claim must not begin here, because another worker may have begun it. Call `add`
        before this."""
        number = self.page[REVOKED:HEADER]
        if number == _NONE_REVOKED or not number:
            return False
        return int(claim.rpartition(":")[2]) <= int.from_bytes(number, sys.byteorder)

    def settle(self, task_id: str, claim: str) -> None:
        """Record that the store has the outcome of this claim. The task may run under another claim by now."""
        if self._ended.get(task_id) == claim:
            self.remove(task_id)

    def remove(self, task_id: str) -> None:
        """Remove a task: the store has its outcome, or the worker will report none."""
        place = self._places.pop(task_id, None)
        if place is not None:
            self.page[place] = 0
            self._free.append(place)
            if self._ended.pop(task_id, None) is not None:
                self.page[place + CLAIM] = 0

    def _run_again(self, task_id: str, place: int) -> None:
        """Record that the task runs again under a new claim; its old outcome does not count."""
        del self._ended[task_id]
        self.page[place + CLAIM] = 0

    def _overflow(self) -> None:
        """Mark the page as overflowed: it has no room for all tasks, so nobody uses it."""
        if len(self.page):
            self.page[INCOMPLETE] = 1
