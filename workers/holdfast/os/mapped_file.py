"""A small file that a process changes by writing to its memory: what it wrote outlives the process, however that dies.

The death of the host is another matter: the kernel writes the pages to the disk when it likes.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path


def create(path: Path, content: bytes) -> mmap.mmap:
    """A new file of this content, mapped. All of it is written first: a write to memory for which the disk has no room
    would end the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        return mmap.mmap(descriptor, len(content))
    finally:
        os.close(descriptor)


def write(path: Path, at: int, content: bytes) -> bool:
    """Change some bytes of the file, and of the memory of the process that has mapped it; False where there is none."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return os.pwrite(descriptor, content, at) == len(content)
    finally:
        os.close(descriptor)


def read(path: Path) -> bytes:
    """The content; empty where there is no such file."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
