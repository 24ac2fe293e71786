"""Locks that the kernel drops when their holder dies.

`hold` takes an advisory flock on a file of its own. A child that is forked without exec inherits the flock, so the
flock may outlive the process that took it. `mark_process` adds a record lock, which no child inherits. If the flock is
held and the record lock is not, the process has ended and a child of it still runs. The file contains the number of the
process.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path

MARKED = b"process\n"
LONGEST_MARK = len(MARKED) + 11  # bytes: more digits are no number of a process


def hold(path: Path) -> int | None:
    """Lock `path` until this process ends. Returns the descriptor; None if another process holds the lock.

    Only the owner may read the file, because everybody who can read it could lock it. A symbolic link is not followed.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _make_private(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _make_private(descriptor: int) -> None:
    """Remove the rights of other users on a file that belongs to this user."""
    file = os.fstat(descriptor)
    if file.st_uid == os.geteuid() and file.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)


def is_free(path: Path) -> bool:
    """True if no process holds `path` now."""
    descriptor = hold(path)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def mark_process(descriptor: int) -> None:
    """Tie the file that `hold` has locked to this process: add a record lock, and write the process's number. Do not
    open and close the file in this process again, because closing it drops the record lock."""
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.pwrite(descriptor, b"%s%d\n" % (MARKED, os.getpid()), 0)  # last: a reader of it may rely on the record lock


def marked_process(path: Path) -> int | None:
    """The number of the process that marked the file; None if there is none. Reading it does not disturb the lock."""
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_MARK)
    except OSError:
        return None
    number = content.removeprefix(MARKED).removesuffix(b"\n")
    is_mark = content.startswith(MARKED) and content.endswith(b"\n")
    return int(number) if is_mark and number.isdigit() else None


def outlived(path: Path) -> bool:
    """True if a process still holds the lock on `path`, but the process that marked the file has ended."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        if os.pread(descriptor, len(MARKED), 0) != MARKED:
            return False
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except (BlockingIOError, PermissionError):  # lockf(3): either, where another process has it
        return False
    finally:
        os.close(descriptor)


# A small file that a process maps into its memory and changes there: its changes survive any death of the process.
#
# They may be lost if the host dies, because the kernel writes the pages to the disk at a time of its own.


def create_mapped(path: Path, content: bytes) -> mmap.mmap:
    """Make a file with this content and map it. The content is written first, because writing to mapped memory without
    room on the disk would kill the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        return mmap.mmap(descriptor, len(content))
    finally:
        os.close(descriptor)


def write_mapped(path: Path, at: int, content: bytes) -> bool:
    """Write `content` at byte `at` of the file, and so to the memory of the process that has mapped it. False if the
    file cannot be opened."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return os.pwrite(descriptor, content, at) == len(content)
    finally:
        os.close(descriptor)


def read_mapped(path: Path) -> bytes:
    """The content of the file; empty if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
