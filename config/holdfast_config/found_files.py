"""Settings files of other systems that are found by their usual names, where there is no supervisor.toml.

Nobody named such a file, and it may be written for a newer version of its system: a key that is not understood refuses
nothing. One line says what was taken from the file, and what was not understood.
"""

from __future__ import annotations

import stat
from pathlib import Path

from holdfast_config.errors import ConfigError

AGENT = "agent_config.json"  # of the agent framework, in the application's folder
TIMELINE = ".redbike.conf"  # of a timeline scheduler, in the current folder


def candidates(folder: Path, app_dir: Path, *, timeline: bool) -> tuple[Path, ...]:
    """The files in the order in which they are looked for: the first that is there is the one that is used. With one of
    them in a folder all commands use it, so that what one advises another does to the same queue. With both, the
    verbs of a timeline scheduler (`timeline`) use theirs, and all others the framework's."""
    usual = app_dir / AGENT, folder / TIMELINE
    return usual[::-1] if timeline else usual


def is_file(path: Path) -> bool:
    """Raises ConfigError where this cannot be known: `Path.is_file` raises PermissionError there, or says no."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        raise ConfigError([f"{path}: this user may not search its folder: chmod +x it, or use another"]) from None
    except (OSError, ValueError):  # there can be none by this name
        return False
