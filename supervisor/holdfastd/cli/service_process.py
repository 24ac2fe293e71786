"""Runs a service in a process that has imported nothing of the command line.

A service forks its processes, so each would carry the modules that a command imports to read its arguments. Therefore a
child reads arguments and settings, and sends the order through a pipe. Meanwhile this process imports what the service
needs.
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
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from holdfastd.cli.common import output

if TYPE_CHECKING:
    from holdfast_config import Settings


# The services that a command can order. Nothing of the command line is imported here.


@dataclass(frozen=True, slots=True)
class PoolOrder:
    """A supervisor with its workers: its settings, the flags to read them again with, and the files that they came
    from."""

    settings: Settings
    flags: Mapping[str, object]
    files: tuple[Path, ...]

    def serve(self) -> int:
        """Run the service; returns its exit status."""
        _begin(self.settings)
        if self.settings.scheduler_type == "memory":
            from holdfastd.single.single_process import run as run_single

            return run_single(self.settings, output.announce)
        from holdfastd.parent import lean_imports

        lean_imports.prepare(telemetry=self.settings.otlp_endpoint is not None)  # before others import the same

        from holdfastd.parent.parent_process import run as run_service

        return run_service(self.settings, output.announce, self._read_again, self.files)

    def _read_again(self) -> Settings:
        from holdfast_config import load
        from holdfast_config.secret_values import hide_secrets

        settings = load(self.flags)
        hide_secrets(settings)
        return settings


@dataclass(frozen=True, slots=True)
class DashboardOrder:
    """The dashboard by itself, at the address of these settings."""

    settings: Settings

    def serve(self) -> int:
        """Serve the dashboard until it is told to end; returns its exit status."""
        _begin(self.settings)
        import_dashboard()
        from holdfastd.control.listening_socket import DASHBOARD, ListenError, ListeningSocket
        from holdfastd.parent import start_checks
        from holdfastd.parent.host import raise_descriptors
        from holdfastd.web.web_process import run_alone

        dashboard = ListeningSocket(self.settings.web, DASHBOARD, has_tls=self.settings.web_cert_file is not None)
        try:
            with dashboard.opened(output.announce) as listener:
                assert listener is not None
                raise_descriptors()
                run_alone(start_checks.with_dashboard_token(self.settings, output.announce), listener)
        except ListenError as error:
            output.announce(str(error), "error")
            return error.code
        return 0


ServiceOrder = PoolOrder | DashboardOrder


def import_pool() -> None:
    """Import what the service of a pool needs."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # before others import the same

    from holdfastd.parent.script_builder import ScriptBuilder

    builder = ScriptBuilder.start()

    from holdfastd.parent import parent_process, preload

    preload.import_modules()
    if builder is not None:
        builder.take()
    preload.preload()
    assert parent_process


def import_dashboard() -> None:
    """Import what the dashboard needs, if the extra `web` is installed."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # before others import the same
    with suppress(ModuleNotFoundError):
        from holdfastd.web import web_process

        assert web_process


IMPORTS: Mapping[str, Callable[[], None]] = MappingProxyType({"start": import_pool, "web": import_dashboard})


def _begin(settings: Settings) -> None:
    from holdfast_config import logging
    from holdfast_config.secret_values import hide_secrets

    hide_secrets(settings)
    logging.configure(settings.log_level, settings.log_format)


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


def ordered(command: str, work: Callable[[], int]) -> ServiceOrder | int:
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
    order: ServiceOrder = pickle.loads(packed)  # noqa: S301 - written by our own child
    return order


def run(order: ServiceOrder) -> int:
    """Run the service; returns its exit status. In a child of `ordered` the parent runs it."""
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
