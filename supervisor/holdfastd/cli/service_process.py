"""Runs the service of `supervisor start` in a process that has imported nothing of the command line.

The service forks all its processes, so each of them would carry what a command imports to read its arguments. A child
reads arguments and settings, and tells them through a pipe. Meanwhile this process imports what a service needs.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from holdfastd.cli.common import output

if TYPE_CHECKING:
    from holdfast_config import Settings

COMMAND = "start"
BEFORE_COMMAND = ("-c", "--config")  # the options of `supervisor` itself that take a value
HELP = {"-h", "--help"}

_writing: int | None = None  # the pipe, in the child


@dataclass(frozen=True, slots=True)
class ServiceOrder:
    """The service to run: its settings, the flags to read them again with, and the files that they came from."""

    settings: Settings
    flags: Mapping[str, object]
    files: tuple[Path, ...]


def is_wanted(arguments: Sequence[str]) -> bool:
    """True if these arguments start a service."""
    words = iter(arguments)
    for word in words:
        if word in BEFORE_COMMAND:
            next(words, None)
        elif not word.startswith("-"):
            return word == COMMAND and not HELP & set(arguments)
    return False


def ordered(command: Callable[[], int]) -> ServiceOrder | int:
    """The service that the command orders, which runs in a child; its exit status if it orders none."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_in_child(command, writing)
    os.close(writing)
    packed, otherwise = b"", 0
    with os.fdopen(reading, "rb") as pipe:
        try:
            with _interrupted_later():
                _import_service()
            packed = pipe.read()
        except KeyboardInterrupt:  # the terminal has told the child as well, which reports it
            otherwise = 128 + signal.SIGINT
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not packed or status:
        return (status if status >= 0 else 128 - status) or otherwise
    order: ServiceOrder = pickle.loads(packed)  # noqa: S301 - written by our own child
    return order


def run(order: ServiceOrder) -> int:
    """Run the service; its exit status. In a child of `ordered` the parent runs it."""
    if _writing is None:
        return serve(order)
    with suppress(BrokenPipeError), os.fdopen(_writing, "wb") as pipe:  # the parent may be gone
        pickle.dump(order, pipe)
    return 0


def serve(order: ServiceOrder) -> int:
    """Run the service in this process; its exit status."""
    from holdfast_config import logging
    from holdfast_config.secret_values import hide_secrets

    hide_secrets(order.settings)
    logging.configure(order.settings.log_level, order.settings.log_format)
    if order.settings.scheduler_type == "memory":
        from holdfastd.single.main import run as run_single

        return run_single(order.settings, output.note)
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=order.settings.otlp_endpoint is not None)  # before others import the same

    from holdfastd.parent.main import run as run_service

    return run_service(order.settings, output.note, lambda: _read_again(order), order.files)


def _read_again(order: ServiceOrder) -> Settings:
    from holdfast_config import load
    from holdfast_config.secret_values import hide_secrets

    settings = load(order.flags)
    hide_secrets(settings)
    return settings


def _run_in_child(command: Callable[[], int], writing: int) -> NoReturn:
    global _writing
    _writing = writing
    status = 1
    try:
        status = command()
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


def _import_service() -> None:
    gc.disable()  # what is imported stays
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # before others import the same

    from holdfastd.parent.script_builder import ScriptBuilder

    builder = ScriptBuilder.start()

    from holdfastd.parent import main, preload

    preload.import_modules()
    if builder is not None:
        builder.take()
    preload.preload()
    gc.freeze()  # to look through all of it for the little garbage of imports takes as long as many imports
    gc.enable()
    assert main
