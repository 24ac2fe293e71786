"""Reads the user and the handler folder from the files of an earlier installation, so that nobody repeats them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from holdfast_config import names
from holdfast_config.sources import read_dotenv
from holdfastd.unit.site import SETTINGS, Site
from holdfastd.unit.unit_files import UNITS

_USER = re.compile(r"^User=(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InstalledService:
    """None: the earlier files do not say it, or cannot be read."""

    user: str | None = None
    app_dir: Path | None = None


def earlier(root: Path, instance: str | None) -> InstalledService:
    """Read the service's own files below `root`."""
    site = Site(instance=instance)
    app_dir = _variables(_below(root, site.variables)) or _settings(_below(root, SETTINGS))
    return InstalledService(_user(_below(root, UNITS / site.template)), Path(app_dir) if app_dir else None)


def _user(unit: Path) -> str | None:
    try:
        match = _USER.search(unit.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return match[1] if match else None


def _variables(path: Path) -> str | None:
    return read_dotenv(path)[0].get(names.own("app_dir"))


def _settings(path: Path) -> str | None:
    try:
        return str(tomllib.loads(path.read_text("utf-8")).get("app_dir") or "") or None
    except (OSError, ValueError, RecursionError):  # UnicodeDecodeError, TOMLDecodeError, or nested too deep
        return None


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
