"""Finds settings files of other systems (an agent framework, a timeline scheduler) by their usual names. They are read
if there is no supervisor.toml.

No operator has named such a file, and it may be made for a newer version of its system. So an unknown key in it is no
error. One log line reports the settings that are taken from the file, and the unknown keys.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from holdfast_config.errors import ConfigError

AGENT = "agent_config.json"  # the agent framework's file, in the application's folder
TIMELINE = ".redbike.conf"  # a timeline scheduler's file, in the current folder


def candidates(folder: Path, app_dir: Path, *, timeline: bool) -> tuple[Path, ...]:
    """The two files in search order; the first that exists is read. If only one exists, all commands read it and so use
    the same queue. If both exist, commands of a timeline scheduler (`timeline`) read its file, and all other commands
    read the framework's file."""
    usual = app_dir / AGENT, folder / TIMELINE
    return usual[::-1] if timeline else usual


def is_file(path: Path) -> bool:
    """True for a regular file. Unlike `Path.is_file`, raises ConfigError if this user may not search the file's
    folder."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        raise ConfigError(
            [f"{path}: this user has no x permission on the folder of this file: chmod +x the folder, or use another"]
        ) from None
    except OSError as error:  # there is no such file, or there can be none (the name is too long)
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return False
        raise
    except ValueError:  # a null byte
        return False
