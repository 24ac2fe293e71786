"""The arguments that a watcher is started with."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

CODE = ".py"
# Folders of tools, which write Python files that no handler imports.
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True, slots=True)
class WatcherSpec:
    """`folder` is watched with its subfolders; `files` are settings files, wherever they are."""

    folder: Path
    files: Collection[Path] = ()

    def wants(self, path: Path) -> bool:
        """True if a change of this path requires a reload."""
        if path in self.files:
            return True
        if path.suffix != CODE or not path.is_relative_to(self.folder):
            return False
        return not any(part in SKIPPED or part.startswith(".") for part in path.relative_to(self.folder).parts)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The paths to watch: the folder, and existing files outside it."""
        outside = (file for file in self.files if not file.is_relative_to(self.folder) and file.exists())
        return (self.folder, *outside)

    @classmethod
    def of(cls, folder: Path, files: Collection[Path]) -> WatcherSpec:
        """A spec with the paths as the kernel reports them."""
        return cls(folder.resolve(), frozenset(Path(os.path.realpath(file)) for file in files))
