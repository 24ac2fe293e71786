"""A project is a folder whose commands share one pool.

It is the folder of the settings file, else that of agent.py, else the working folder. Its pool has folders below the
XDG folders, under a name made from the project's path. A note in each of these folders names the project. So commands
elsewhere can name it, and its data is found after the project was renamed.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

AGENT = "agent.py"
NOTE = "project.json"

_SLUG = 12  # characters: paths of sockets are short
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Project:
    """A project by its real path. `device` and `inode` are those of its folder, which a rename keeps; 0 if unknown."""

    path: Path
    device: int = 0
    inode: int = 0

    @classmethod
    def at(cls, folder: Path) -> Project:
        """The project in this folder; it may be missing."""
        try:
            path = Path(os.path.realpath(folder))
        except FileNotFoundError:  # the working folder of this process was removed
            return cls(Path("/"))
        try:
            status = path.stat()
        except OSError:
            return cls(path)
        return cls(path, status.st_dev, status.st_ino)

    @property
    def name(self) -> str:
        """The name of its folders: the start of the project folder's name, and a checksum of its path."""
        slug = _OTHERS.sub("-", self.path.name.lower()).strip("-")[:_SLUG].rstrip("-")
        return f"{slug or 'project'}-{zlib.crc32(os.fsencode(self.path)):08x}"

    def is_gone(self) -> bool:
        """True if its folder exists no more under this path."""
        return not os.path.isdir(self.path)  # noqa: PTH112 - a folder above it that may not be searched is no error

    def is_same_folder(self, other: Project) -> bool:
        """True if both are one folder, perhaps under another path."""
        return bool(self.inode) and (self.device, self.inode) == (other.device, other.inode)

    def write_note(self, folder: Path) -> None:
        """Note the project in one of its folders. Raises OSError."""
        if noted(folder) != self:
            fresh = folder / f"{NOTE}.{os.getpid()}"
            fresh.write_text(
                json.dumps({"path": str(self.path), "device": self.device, "inode": self.inode}) + "\n", "utf-8"
            )
            fresh.chmod(0o600)
            fresh.replace(folder / NOTE)


def noted(folder: Path) -> Project | None:
    """The project that the note in this folder names; None if there is none that can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        note = cast("dict[str, object]", json.loads((folder / NOTE).read_text("utf-8")))
        path, device, inode = note["path"], note["device"], note["inode"]
        if isinstance(path, str) and isinstance(device, int) and isinstance(inode, int):
            return Project(Path(path), device, inode)
    return None


def project_folder(settings_file: Path | None, app_dir: Path, folder: Path) -> Path:
    """The project of a command in `folder` that reads this settings file, if any, and imports from `app_dir`."""
    if settings_file is not None and settings_file.is_file():
        return settings_file.parent
    return app_dir if os.path.isfile(app_dir / AGENT) else folder  # noqa: PTH113 - one that may not be searched is none
