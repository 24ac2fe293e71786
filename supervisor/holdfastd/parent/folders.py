"""The folders of the service, for its owner and its group."""

from __future__ import annotations

from pathlib import Path

LOCK = "supervisor.lock"
INCARNATIONS = "incarnations"
MODE = 0o750


def make(runtime_dir: Path, state_dir: Path) -> None:
    """Create what is missing. Raises OSError."""
    for folder in (runtime_dir, state_dir, runtime_dir / INCARNATIONS):
        folder.mkdir(MODE, parents=True, exist_ok=True)
