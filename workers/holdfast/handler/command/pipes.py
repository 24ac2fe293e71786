"""Writes a document to a process and reads its output, through pipes on the event loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import anyio

CHUNK = 65536  # bytes; what a pipe holds


async def feed(pipe: IO[bytes], document: bytes) -> None:
    """Write the document and close the pipe. A process need not read all of it."""
    os.set_blocking(pipe.fileno(), False)
    rest = memoryview(document)
    try:
        with suppress(BrokenPipeError):
            while rest:
                await anyio.wait_writable(pipe)
                rest = rest[os.write(pipe.fileno(), rest) :]
    finally:
        pipe.close()


async def listen(pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
    """Pass on each chunk until every writer has closed the pipe. One chunk per turn of the loop: others run between."""
    os.set_blocking(pipe.fileno(), False)
    while True:
        await anyio.wait_readable(pipe)
        chunk = os.read(pipe.fileno(), CHUNK)
        if not chunk:
            return
        take(chunk)
