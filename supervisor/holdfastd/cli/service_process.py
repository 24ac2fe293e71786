"""Runs a service in a process that has imported nothing of the command line.

A service forks its processes, so each of them would carry what a command imports to read its arguments. A child reads
arguments and settings, and tells the order through a pipe. Meanwhile this process imports what the service needs.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from holdfastd.cli.service_order import IMPORTS, Order

BEFORE_COMMAND = ("-c", "--config")  # the options of `supervisor` itself that take a value
HELP = {"-h", "--help"}

_writing: int | None = None  # the pipe, in the child


def wanted(arguments: Sequence[str]) -> str:
    """The command of these arguments if it runs a service, else empty."""
    words = iter(arguments)
    for word in words:
        if word in BEFORE_COMMAND:
            next(words, None)
        elif not word.startswith("-"):
            return word if word in IMPORTS and not HELP & set(arguments) else ""
    return ""


def ordered(command: str, work: Callable[[], int]) -> Order | int:
    """The service that this command orders; its exit status if it orders none. `work` runs the command, in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_in_child(work, writing)
    os.close(writing)
    packed, otherwise = b"", 0
    with os.fdopen(reading, "rb") as pipe:
        try:
            with _interrupted_later():
                _import(command)
            packed = pipe.read()
        except KeyboardInterrupt:  # the terminal has told the child as well, which reports it
            otherwise = 128 + signal.SIGINT
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not packed or status:
        return (status if status >= 0 else 128 - status) or otherwise
    order: Order = pickle.loads(packed)  # noqa: S301 - written by our own child
    return order


def run(order: Order) -> int:
    """Run the service; its exit status. In a child of `ordered` the parent runs it."""
    if _writing is None:
        return order.serve()
    with suppress(BrokenPipeError), os.fdopen(_writing, "wb") as pipe:  # the parent may be gone
        pickle.dump(order, pipe)
    return 0


def _run_in_child(work: Callable[[], int], writing: int) -> NoReturn:
    global _writing
    _writing = writing
    status = 1
    try:
        status = work()
    finally:
        os._exit(status)


@contextmanager
def _interrupted_later() -> Generator[None]:
    """Keep a KeyboardInterrupt for the end of the block: the import system may print and drop it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _import(command: str) -> None:
    gc.disable()  # what is imported stays
    IMPORTS[command]()
    gc.freeze()  # to look through all of it for the little garbage of imports takes as long as many imports
    gc.enable()
