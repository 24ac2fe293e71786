"""`supervisor start`: runs a service from its settings to its exit status."""

from __future__ import annotations

import faulthandler
import importlib
import os
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from holdfast.core.worker_records import WorkerKind
from holdfast.exits import Exit
from holdfast.os import locks
from holdfast.telemetry.logs import is_wanted
from holdfast.worker.context import WorkerSpec
from holdfast.worker.main import run as work
from holdfast_config import Settings, service_folders
from holdfast_config.settings import STORE_SOCKET
from holdfast_config.standard_error import STREAM
from holdfastd import watcher
from holdfastd.control.listening_socket import DASHBOARD, ListenError, ListeningSocket
from holdfastd.core.commands import Announce
from holdfastd.core.slots import ChildKind, Slot, SupervisionPolicy
from holdfastd.embedded.data_folder import StoreLaunchError, read_start_failure
from holdfastd.embedded.launch import data_directory, prepare
from holdfastd.parent import lean_imports, prctl, preload, start_checks
from holdfastd.parent.fork import LINUX, Kernel
from holdfastd.parent.parent import Parent
from holdfastd.parent.preload_handler import is_preloaded, preload_handler
from holdfastd.parent.service_spec import EmbeddedStore, ServiceSpec, WorkerCode
from holdfastd.steward.steward_process import run as serve
from holdfastd.steward.steward_spec import StewardSpec

# Runs one supervisor in a runtime folder: takes the folder's lock, and prints unexpected errors.


def supervise(spec: ServiceSpec, announce: Announce, kernel: Kernel = LINUX) -> int:
    """Supervise this service if no other supervisor holds the runtime folder; returns the exit status."""
    announce = _without_errors(announce)
    try:
        lock = locks.hold(spec.runtime_dir / service_folders.SUPERVISOR_LOCK)
    except OSError as error:
        announce(f"cannot lock {error.filename}: {error.strerror}: choose another --runtime-dir", "error")
        return start_checks.folder_status(error)
    if lock is None:
        announce(f"a supervisor runs already in {spec.runtime_dir}: stop it, or choose another --runtime-dir", "error")
        return Exit.RUNNING
    try:
        return _guarded(spec, announce, kernel)
    finally:
        os.close(lock)


def _guarded(spec: ServiceSpec, announce: Announce, kernel: Kernel) -> int:
    # Every fork inherits this: a child that crashes or is aborted writes its stacks.
    faulthandler.enable(STREAM.descriptor())
    prctl.become_subreaper()
    try:
        with spec.metrics.opened(announce), spec.dashboard.opened(announce):
            return Parent(spec, announce, kernel).run()
    except (StoreLaunchError, ListenError) as error:
        announce(str(error), "error")
        return error.code
    except Exception:  # a bug: all children are dead by now, and the traceback is printed
        announce(traceback.format_exc(), "error")
        return Exit.BUG


def _without_errors(announce: Announce) -> Announce:
    """Wrap the function so that it ignores errors of a closed terminal. They are no reason to end the service."""

    def announce_if_possible(text: str, level: str = "info") -> None:
        with suppress(OSError):
            announce(text, level)

    return announce_if_possible


# The settings that a reload applies, because only workers use them. The other settings take effect with a restart,
# because the parent or processes that stay use them.
RELOADABLE = frozenset(
    {
        "handler",
        "exec",
        "exec_env",
        "app_dir",
        "concurrency",
        "redis_max_connections",
        "redis_poll_timeout",
        "task_timeout",
        "max_attempts",
        "retry_base",
        "retry_cap",
        "max_tasks",
        "max_memory",
        "max_message_bytes",
        "fence",
        "otlp_endpoint",
        "otlp_protocol",
        "trace_mode",
        "trace_baggage",
    }
)

_log = structlog.get_logger("holdfast.parent")


class ReloadedSettings:
    """The settings that a reload applies. `running`: the settings of this service. `read`: the settings as they were
    read at its start, without what the service added to them, for example the token of its dashboard. `not_applied`:
    the settings that differ from both since the last reload, and that take effect only with a restart."""

    def __init__(self, running: Settings, read: Settings) -> None:
        self._running = running
        self._at_start = self._read = read
        self.not_applied: tuple[str, ...] = ()

    def of(self, after: Settings) -> Settings:
        """The settings of `after` that a reload can apply, with the values of this service for the others. If others
        have changed since they were last read, it logs the names of all that are not applied."""
        fixed = {name: getattr(self._running, name) for name in Settings.model_fields if name not in RELOADABLE}
        known = fixed, dict(self._at_start)
        waiting = sorted(name for name in fixed if all(getattr(after, name) != each[name] for each in known))
        if any(getattr(after, name) != getattr(self._read, name) for name in waiting):
            _log.warning("these settings change only with a restart", settings=waiting)
        self._read, self.not_applied = after, tuple(waiting)
        return after.model_copy(update=fixed)


# Enters the working folder of the service again after a deployment has deleted and recreated the folder.


def working_folder() -> Path | None:
    """The working folder of this process; None if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def enter_again(folder: Path | None) -> None:
    """Enter this folder if the working folder of this process was deleted and the path exists again."""
    if folder is not None and working_folder() is None:
        with suppress(OSError):
            os.chdir(folder)


WORKER_KINDS = {ChildKind.WORKER: WorkerKind.WORKER, ChildKind.QUARANTINE: WorkerKind.QUARANTINE}


def run(
    settings: Settings, announce: Announce, reread: Callable[[], Settings] | None = None, files: Sequence[Path] = ()
) -> int:
    """Run the supervisor with these settings until it is told to stop; returns its exit status.

    `announce` prints a line for people. `reread` reads the settings again for a reload; it raises ConfigError. `files`:
    the files with the settings, which are watched with --reload.
    """
    try:
        start_checks.make_folders(settings)
    except OSError as error:
        announce(start_checks.folder_error_line(error), "error")
        return start_checks.folder_status(error)
    if why_not := start_checks.refusal(settings):
        announce(why_not, "error")
        return Exit.CONFIG
    read = settings
    if settings.web:
        settings = start_checks.with_dashboard_token(settings, announce)
    preload.preload(telemetry=settings.otlp_endpoint is not None)
    preload.freeze()
    if settings.reload:
        sys.dont_write_bytecode = True  # Python compares whole seconds, so it would miss two saves within one second
    return supervise(service_spec(settings, reread, files, read), announce)


def service_spec(
    settings: Settings,
    reread: Callable[[], Settings] | None = None,
    files: Sequence[Path] = (),
    read: Settings | None = None,
) -> ServiceSpec:
    """The service that these settings describe. After a reload, workers use the settings that `reread` returns at that
    time. `read`: the settings as they were read, if the service has added to them."""

    folder, reloaded = working_folder(), ReloadedSettings(settings, read or settings)

    def read_again() -> WorkerCode:
        code = _worker(reloaded.of(reread()) if reread else settings, folder)
        return replace(code, not_applied=reloaded.not_applied)

    metrics = ListeningSocket(settings.metrics)
    dashboard = ListeningSocket(settings.web, DASHBOARD, has_tls=settings.web_cert_file is not None)

    def steward(first: bool, channel: socket.socket) -> int:
        return serve(StewardSpec(settings, first, metrics=metrics.listener), channel)

    failure = partial(read_start_failure, data_directory(settings).log_file)
    store = EmbeddedStore(lambda first: prepare(settings, first=first), settings.runtime_dir / STORE_SOCKET, failure)
    return ServiceSpec(
        policy=SupervisionPolicy(
            settings.drain_timeout, settings.hang_timeout, settings.boot_timeout, preloaded=is_preloaded(settings)
        ),
        workers=settings.workers,
        runtime_dir=settings.runtime_dir,
        store_url=settings.redis.masked_url,
        worker=_worker(settings, folder),
        steward=steward,
        reread=read_again,
        store=store if settings.embedded else None,
        watcher=partial(watcher.run, watcher.WatcherSpec.of(settings.app_dir, files)) if settings.reload else None,
        queue=settings.queue_name,
        storage=settings.storage_type,
        group_verbs=settings.control_group_verbs,
        metrics=metrics,
        sends_logs=settings.otlp_endpoint is not None and is_wanted("LOGS"),
        web=partial(_serve_dashboard, settings, dashboard) if settings.web else None,
        dashboard=dashboard,
    )


def _serve_dashboard(settings: Settings, dashboard: ListeningSocket, channel: socket.socket) -> int:
    """Serve the dashboard. This runs in the web process, the only process that imports the packages of the extra
    `web`."""
    lean_imports.prepare_dashboard()
    return int(importlib.import_module("holdfastd.web.web_process").run(settings, dashboard.listener, channel))


def _worker(settings: Settings, folder: Path | None) -> WorkerCode:
    def worker(incarnation: str, slot: Slot, channel: socket.socket) -> int:
        enter_again(folder)
        return work(WorkerSpec(incarnation, slot.number, settings, WORKER_KINDS[slot.kind]), channel)

    def load() -> tuple[int, ...]:
        enter_again(folder)
        return preload_handler(settings)

    return WorkerCode(worker, load)
