"""The worker's lock: as long as this process lives the kernel holds it, and a steward that starts later reads it."""

from __future__ import annotations

from pathlib import Path

from holdfast.os import locks
from holdfast.worker.spec import WorkerSpec
from holdfast_config import service_folders


def hold_lock(spec: WorkerSpec) -> None:
    """RuntimeError where another process is this incarnation, UntrustedError where another user could replace it."""
    path = _path(spec)
    service_folders.make(spec.settings.runtime_dir, 0o750)
    spec.settings.runtime_folder.check()
    service_folders.make(path.parent, 0o700)
    descriptor = locks.hold(path)
    if descriptor is None:
        raise RuntimeError(f"incarnation {spec.incarnation} is held by another process")
    locks.mark_process(descriptor)


def drop_lock(spec: WorkerSpec) -> None:
    """For a worker without a parent that has given everything back: nobody else would take its file away."""
    _path(spec).unlink(missing_ok=True)


def _path(spec: WorkerSpec) -> Path:
    return spec.settings.runtime_dir / "incarnations" / f"{spec.incarnation}.lock"
