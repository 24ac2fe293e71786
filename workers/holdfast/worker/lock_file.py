"""A worker holds a lock file while its process lives. A steward that starts later finds dead workers by their lock
files, which are no longer locked.

Beside the lock file lies the page on which the worker notes the tasks that it has begun.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.core import begun_page
from holdfast.core.begun_page import BegunTasks
from holdfast.core.pull_protocol import MOST
from holdfast.os import locks
from holdfast.os.processes import boot_id
from holdfast.worker.context import WorkerSpec
from holdfast_config import service_folders


def hold_lock(spec: WorkerSpec) -> None:
    """Hold the lock until this process ends.

    Raises RuntimeError if another process holds it, UntrustedError if another user could replace the file.
    """
    path = _path(spec)
    service_folders.make_checked(spec.settings.runtime_folder, 0o750)
    service_folders.make(path.parent, 0o700)
    descriptor = locks.hold(path)
    if descriptor is None:
        raise RuntimeError(f"incarnation {spec.incarnation} is held by another process")
    locks.mark_process(descriptor)


def open_page(spec: WorkerSpec) -> BegunTasks:
    """Open the page on which a worker notes its begun tasks; the worker must hold its lock. The page has room for
    running tasks, and for ended tasks that are not reported yet."""
    path = _path(spec).with_suffix(begun_page.SUFFIX)
    return BegunTasks(locks.create_mapped(path, begun_page.blank(2 * (spec.capacity + MOST), boot_id())))


def drop_lock(spec: WorkerSpec) -> None:
    """Remove the lock file. A worker without a parent calls this at its end, because no other process would remove the
    file."""
    _path(spec).unlink(missing_ok=True)


def _path(spec: WorkerSpec) -> Path:
    return spec.settings.runtime_dir / "incarnations" / f"{spec.incarnation}.lock"
