"""The users of the dashboard's file, as it is now."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import structlog

from holdfast_config.web_users import User, read

_log = structlog.get_logger("holdfast.web")


@dataclass(slots=True)
class UsersFile:
    """Read again when it has changed. While it is away or wrong it has no users, and the log says why."""

    path: Path
    _users: dict[str, User] = field(default_factory=dict[str, User])
    _state: object = None

    def user(self, name: str) -> User | None:
        """The user of this name as the file is now."""
        if (state := _state_of(self.path)) != self._state:
            self._state, self._users = state, self._read()
        return self._users.get(name)

    def _read(self) -> dict[str, User]:
        try:
            return read(self.path)
        except ValueError as error:
            _log.error("the users file is not in use", error=str(error))
            return {}


def _state_of(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode
