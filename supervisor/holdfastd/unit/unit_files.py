"""Generates the files of a service: paths, contents and permissions."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

from holdfast_config import names
from holdfast_config.sources import read_dotenv
from holdfastd.unit.access import ETC, SETTINGS, USER, Site

# Marks generated files with a checksum in their first line, so that later changes by others are detected.

_FIRST = re.compile(r"# Written by `supervisor service`, checksum ([0-9a-f]{12})\b.*\n")


def sealed(body: str) -> str:
    """The text with its checksum line on top."""
    return (
        f"# Written by `supervisor service`, checksum {_checksum(body)}: "
        "replaced when it is installed again, unless it was changed.\n" + body
    )


def is_intact(text: str) -> bool:
    """True if the text is unchanged since we generated it, in whatever version."""
    first = _FIRST.match(text)
    return first is not None and first[1] == _checksum(text[first.end() :])


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


UNITS = Path("/etc/systemd/system")
SYSUSERS = Path("/etc/sysusers.d/holdfast.conf")
TMPFILES = Path("/etc/tmpfiles.d/holdfast.conf")

PUBLIC = 0o644
SECRET = 0o600  # systemd reads it as root before the service starts

_PLACE = re.compile(r"@([a-z]+)@")


@dataclass(frozen=True, slots=True)
class File:
    """`once`: written at the first installation only; after that it belongs to the operator, and has no checksum."""

    path: Path
    text: str
    mode: int = PUBLIC
    once: bool = False


def files(site: Site) -> Iterator[File]:
    """All files: those of the unit, then those of its settings."""
    words = _words(site)
    yield File(UNITS / site.template, _filled("holdfast.service", words))
    yield File(UNITS / f"{site.template}.d" / "credentials.conf", _filled("credentials.conf", words))
    if site.user == USER:
        yield File(SYSUSERS, _filled("sysusers.conf", words))
    yield File(TMPFILES, _filled("tmpfiles.conf", words))
    yield File(SETTINGS, _toml(site.settings if site.instance is None else {}), once=True)
    if site.instance is not None:
        yield File(site.variables, _variables(site), SECRET, once=True)


def _words(site: Site) -> Mapping[str, str]:
    """The values for the templates' placeholders; %i is systemd's specifier for the instance."""
    is_only = site.instance is None
    return {
        "description": "Holdfast, a supervisor for Redis task queues" + ("" if is_only else " (%i)"),
        "unit": "holdfast" if is_only else "holdfast@NAME",
        "name": "holdfast" if is_only else "holdfast-%i",
        "settings": "supervisor" if is_only else "%i",
        "credentials": f"{ETC}/credentials" if is_only else f"{ETC}/credentials/%i",
        "supervisor": str(site.supervisor),
        "user": site.user,
        "home": "\n".join(site.sandbox.directives()),
    }


def _filled(template: str, words: Mapping[str, str]) -> str:
    text = (resources("holdfastd.unit") / "templates" / template).read_text("utf-8")
    return sealed(_PLACE.sub(lambda place: words[place[1]], text))


def _toml(settings: Mapping[str, object]) -> str:
    """The settings file. It must exist, because the unit names it; it may contain no settings."""
    lines = [
        "# The settings of the service; `supervisor start --help` lists them all. Everybody can read this file:",
        f"# secrets belong in {ETC}/credentials. Environment files beside it override it.",
        *(f"{field} = {json.dumps(value, default=str)}" for field, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


def _variables(site: Site) -> str:
    settings = {"queue_name": f"{site.instance}:tasks", **site.settings}
    lines = [
        f"# The settings of {site.unit}; they override those of {SETTINGS}, which all instances share.",
        *(f"{names.own(field)}={json.dumps(str(value))}" for field, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


# Reads the user and the handler folder from the files of an earlier installation, so that nobody repeats them.

_USER = re.compile(r"^User=(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InstalledService:
    """None: the earlier files do not say it, or cannot be read."""

    user: str | None = None
    app_dir: Path | None = None


def earlier(root: Path, instance: str | None) -> InstalledService:
    """Read the service's own files below `root`."""
    site = Site(instance=instance)
    variables, _ = read_dotenv(_below(root, site.variables))
    app_dir = variables.get(names.own("app_dir")) or _settings(_below(root, SETTINGS))
    return InstalledService(_user(_below(root, UNITS / site.template)), Path(app_dir) if app_dir else None)


def _user(unit: Path) -> str | None:
    try:
        match = _USER.search(unit.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return match[1] if match else None


def _settings(path: Path) -> str | None:
    try:
        return str(tomllib.loads(path.read_text("utf-8")).get("app_dir") or "") or None
    except (OSError, ValueError, RecursionError):  # UnicodeDecodeError, TOMLDecodeError, or nested too deep
        return None


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
