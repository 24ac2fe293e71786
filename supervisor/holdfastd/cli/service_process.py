"""Runs a service in a process that has not imported the command line.

A service forks its processes, so each of them would keep the modules of the command line in memory. Therefore a child
process reads the arguments and the settings. It sends a ServiceOrder through a pipe to this process. At the same time,
this process imports the modules of the service.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from holdfastd.cli.common import output

if TYPE_CHECKING:
    from holdfast_config import Settings


# The services that a command can order. Their code imports nothing of the command line.


@dataclass(frozen=True, slots=True)
class PoolOrder:
    """The order to run a supervisor with its workers. `flags`: the settings from the command line, with which a reload
    reads the settings again. `files`: the files that the settings came from."""

    settings: Settings
    flags: Mapping[str, object]
    files: tuple[Path, ...]

    def serve(self) -> int:
        """Run the service and return its exit status."""
        _begin(self.settings)
        if self.settings.scheduler_type == "memory":
            from holdfastd.single.single_process import run as run_single

            return run_single(self.settings, output.announce)
        from holdfastd.parent import lean_imports

        lean_imports.prepare(telemetry=self.settings.otlp_endpoint is not None)  # makes the imports below lighter

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
    """The order to run the dashboard in a process of its own, at the address `settings.web`."""

    settings: Settings

    def serve(self) -> int:
        """Serve the dashboard until it is told to end. Returns its exit status."""
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
    """Import the modules that a supervisor with workers needs."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # first: it makes the imports below lighter

    from holdfast.store.redis import scripts
    from holdfastd.parent.child_builder import build_scripts

    # With another processor, a child builds the store's Lua scripts while this process imports modules.
    is_alone = sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1
    builder = None if is_alone else build_scripts()

    from holdfastd.parent import parent_process, preload

    preload.import_modules()
    if builder is not None:  # if the child has failed, a script is built at its first use
        scripts.SHIPPED.update(builder.take() or {})
    preload.preload()
    assert parent_process


def import_dashboard() -> None:
    """Import the modules that the dashboard needs, if the extra `web` is installed."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # first: it makes the imports below lighter
    lean_imports.prepare_dashboard()
    with suppress(ModuleNotFoundError):
        from holdfastd.web import web_process

        assert web_process


IMPORTS: Mapping[str, Callable[[], None]] = MappingProxyType({"start": import_pool, "web": import_dashboard})


def _begin(settings: Settings) -> None:
    from holdfast_config import logging
    from holdfast_config.secret_values import hide_secrets

    hide_secrets(settings)
    logging.configure(settings.log_level, settings.log_format)


BEFORE_COMMAND = ("-c", "--config", "--runtime-dir")  # the options of `supervisor` itself that take a value
HELP = {"-h", "--help"}

_writing: int | None = None  # the end of the pipe to write to; only in the child


def wanted(arguments: Sequence[str]) -> str:
    """The command in these arguments if it runs a service (`start` or `web`), else an empty text."""
    words = iter(arguments)
    for word in words:
        if word in BEFORE_COMMAND:
            next(words, None)
        elif not word.startswith("-"):
            return word if word in IMPORTS and not HELP & set(arguments) else ""
    return ""


def ordered(command: str, work: Callable[[], int]) -> ServiceOrder | int:
    """Run the command in a child process. Returns the service that the command orders, or its exit status if it orders
    none. `work` runs the command."""
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
        except KeyboardInterrupt:  # the child gets the signal from the terminal, too, and reports it
            otherwise = 128 + signal.SIGINT
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not packed or status:
        return (status if status >= 0 else 128 - status) or otherwise
    order: ServiceOrder = pickle.loads(packed)  # noqa: S301 - written by our own child
    return order


def run(order: ServiceOrder) -> int:
    """Run the service and return its exit status. In a child of `ordered`, send the order to the parent process
    instead."""
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
    """A context manager: hold SIGINT back until the end of the block. During an import Python may print a
    KeyboardInterrupt and drop it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _import(command: str) -> None:
    gc.disable()  # imported modules stay, so a collection would free nothing
    IMPORTS[command]()
    gc.freeze()  # a collection of all these objects takes as long as many imports, and frees little
    gc.enable()
