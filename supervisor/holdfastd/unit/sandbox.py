"""Hides home and temporary folders from the service, except for those that it runs from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Over /root systemd puts a folder that only root may enter, so nothing can be shown to another user inside of it.
ROOT = Path("/root")
HOMES = (Path("/home"), Path("/run/user"))
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - names of what PrivateTmp= hides


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`needed`: the folders that the service reads."""

    needed: tuple[Path, ...] = ()

    @property
    def bound(self) -> tuple[Path, ...]:
        """The needed folders that must be made visible inside hidden ones."""
        hidden = TEMPORARY if self._needs_root else (*HOMES, *TEMPORARY)
        return tuple(path for path in outermost(self.needed) if _lies_in(path, hidden))

    @property
    def _needs_root(self) -> bool:
        return any(_lies_in(path, (ROOT,)) for path in self.needed)

    def directives(self) -> list[str]:
        """The lines for the unit."""
        shown = [f"BindReadOnlyPaths={path}" for path in self.bound]
        if self._needs_root:
            return ["# Not hidden altogether: the program it runs lies in /root.", "ProtectHome=read-only", *shown]
        if any(_lies_in(path, HOMES) for path in self.bound):
            return ["# Hidden, except for the folder that it runs from.", "ProtectHome=tmpfs", *shown]
        return ["ProtectHome=yes", *shown]


def outermost(paths: Iterable[Path]) -> list[Path]:
    """These folders without those that lie in another of them."""
    ordered = sorted(set(paths))
    return [path for path in ordered if not any(path != other and path.is_relative_to(other) for other in ordered)]


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
