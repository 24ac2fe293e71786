"""Settings files of other systems, which are read by their usual names if there is no supervisor.toml.

Nobody named such a file, and it may be for a newer version of its system, so an unknown key in it is no error. One line
reports the settings that are taken from the file, and the unknown keys.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from holdfast_config.errors import ConfigError

AGENT = "agent_config.json"  # of the agent framework, in the application's folder
TIMELINE = ".redbike.conf"  # of a timeline scheduler, in the current folder


def candidates(folder: Path, app_dir: Path, *, timeline: bool) -> tuple[Path, ...]:
    """The files in search order; the first that exists is read. If only one exists, all commands read it, so that they
    use the same queue. If both exist, commands of a timeline scheduler (`timeline`) read its file, and all other
    commands the framework's."""
    usual = app_dir / AGENT, folder / TIMELINE
    return usual[::-1] if timeline else usual


def is_file(path: Path) -> bool:
    """True for a regular file. Raises ConfigError if its folder may not be searched, unlike `Path.is_file`."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        raise ConfigError(
            [f"{path}: this user may not search its folder: chmod +x that folder, or use another"]
        ) from None
    except OSError as error:  # there is none, or (a name that is too long) it cannot be
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return False
        raise
    except ValueError:  # a null byte
        return False
