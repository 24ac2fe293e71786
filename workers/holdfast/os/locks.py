"""Locks that the kernel drops when their holder dies.

`hold` takes an advisory flock on a file of its own: a child that is forked without exec inherits it, and so it may
outlive the process that took it. `mark_process` adds a record lock to it, which no child inherits: where the flock is
held and the record lock is not, the process has ended and left somebody behind. The file then has the process's number.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path

MARKED = b"process\n"
LONGEST_MARK = len(MARKED) + 11  # bytes: more digits are no number of a process


def hold(path: Path) -> int | None:
    """Lock `path` for the life of this process; its descriptor, or None if another process holds it.

    Everybody who can read the file could lock it, so only its owner may read it. A link to another user's file is not
    followed.
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
    """Take the rights of others from a file that somebody has opened to them."""
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
    """Tie the file that `hold` has locked to this very process. It must not be opened and closed here again."""
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.pwrite(descriptor, b"%s%d\n" % (MARKED, os.getpid()), 0)  # last: whoever reads it may rely on the record lock


def marked_process(path: Path) -> int | None:
    """The number of the process to which the file is tied; None if there is none. Looking at the lock does not disturb
    its holder."""
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_MARK)
    except OSError:
        return None
    number = content.removeprefix(MARKED).removesuffix(b"\n")
    is_mark = content.startswith(MARKED) and content.endswith(b"\n")
    return int(number) if is_mark and number.isdigit() else None


def outlived(path: Path) -> bool:
    """True if a process holds `path`, but the marked process has ended."""
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


# A small file that a process changes by writing to its memory: what it wrote outlives the process, however that dies.
#
# The death of the host is another matter: the kernel writes the pages to the disk when it likes.


def create_mapped(path: Path, content: bytes) -> mmap.mmap:
    """Makes a file with this content and maps it. The content is written first, because writing to mapped memory
    without room on the disk would kill the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        return mmap.mmap(descriptor, len(content))
    finally:
        os.close(descriptor)


def write_mapped(path: Path, at: int, content: bytes) -> bool:
    """Change some bytes of the file, and so of the memory of the process that has mapped it; False if there is no such
    file."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return os.pwrite(descriptor, content, at) == len(content)
    finally:
        os.close(descriptor)


def read_mapped(path: Path) -> bytes:
    """The content; empty if there is no such file."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
