"""Ends a service of one process, once its worker is drained."""

from __future__ import annotations

import os

import anyio

from holdfast.exits import ChildExit, Exit
from holdfast.worker.exit_work import LEAST, do_exit_work
from holdfast.worker.in_process import InProcessWorker

LAST_THREADS = 1.0  # seconds for threads, once everything else has ended


async def end_threads(worker: InProcessWorker) -> None:
    """Wait for handler threads; exit at once where one does not end, as it would keep the process alive."""
    with anyio.move_on_after(LAST_THREADS):
        await worker.over.wait()
    if not worker.over.is_set():
        do_exit_work(Exit.CUT_OFF, LEAST)
        os._exit(Exit.CUT_OFF)


def status(worker: InProcessWorker) -> int:
    """The exit status of the process."""
    if worker.code in (ChildExit.FENCED, ChildExit.STUCK):
        return Exit.CUT_OFF
    if worker.code is not ChildExit.OK:
        return Exit.BUG
    return Exit.CUT_OFF if worker.released else Exit.OK
