"""The pools that run on this machine: those of the user's projects, and services of systemd."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast_config import projects, service_folders
from holdfast_config.projects import Project
from holdfast_config.trust import ServiceFolder, is_trusted

SERVICES = Path("/run")  # where systemd makes runtime folders


@dataclass(frozen=True, slots=True)
class RunningPool:
    """A pool by its runtime folder. `project`: None for a service."""

    runtime_dir: Path
    project: Project | None = None

    def __str__(self) -> str:
        return f"{self.project.path} in {self.runtime_dir}" if self.project else str(self.runtime_dir)


def of_user(environ: Mapping[str, str] = os.environ) -> Iterator[RunningPool]:
    """The running pools of this user's projects, ordered by their folders; none below a folder of a stranger's."""
    base = service_folders.runtime_base(environ)
    shared = Path(str(base.value))
    if base.named or not is_trusted(ServiceFolder(shared, named=False, flag="--runtime-dir")):
        return
    for folder in folders_below(shared, "*"):
        if service_folders.listens(folder / service_folders.CONTROL_SOCKET):
            yield RunningPool(folder, projects.noted(folder))


def services(run: Path = SERVICES) -> list[RunningPool]:
    """The services that systemd has made runtime folders for. Another user may not see more than the folders."""
    return [RunningPool(folder) for folder in folders_below(run, "holdfast*")]


def in_brackets(but: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The pools that run, except that of the folder `but`, to be added to a message; empty if there are none."""
    found = [str(pool) for pool in (*of_user(environ), *services()) if pool.runtime_dir != but]
    return f" (there is {', and '.join(found)})" if found else ""


def folders_below(folder: Path, pattern: str) -> list[Path]:
    """The folders right below this one; none if it is missing or may not be searched."""
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_dir())
    except OSError:  # it may not be searched
        return []
