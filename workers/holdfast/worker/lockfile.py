"""The worker's lock: as long as this process lives the kernel holds it, and a steward that starts later reads it."""

from __future__ import annotations

from holdfast import locks
from holdfast.worker.spec import WorkerSpec


def hold_lock(spec: WorkerSpec) -> None:
    """Raises RuntimeError where another process is this incarnation."""
    folder = spec.settings.runtime_dir / "incarnations"
    folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    if locks.hold(folder / f"{spec.incarnation}.lock") is None:
        raise RuntimeError(f"incarnation {spec.incarnation} is held by another process")
