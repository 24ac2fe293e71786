"""Generates the files of a service, with their paths, contents and permissions."""

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

# Marks a generated file with a checksum in its first line. It shows later whether somebody has changed the file.

_FIRST = re.compile(r"# Written by `supervisor service`, checksum ([0-9a-f]{12})\b.*\n")


def sealed(body: str) -> str:
    """The text of a file, below a new first line that has the checksum of the text."""
    return (
        f"# Written by `supervisor service`, checksum {_checksum(body)}: "
        "replaced when it is installed again, unless it was changed.\n" + body
    )


def is_intact(text: str) -> bool:
    """True if the text is unchanged since some version of Holdfast has generated it."""
    first = _FIRST.match(text)
    return first is not None and first[1] == _checksum(text[first.end() :])


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


UNITS = Path("/etc/systemd/system")
SYSUSERS = Path("/etc/sysusers.d/holdfast.conf")
TMPFILES = Path("/etc/tmpfiles.d/holdfast.conf")

PUBLIC = 0o644
SECRET = 0o600  # only for root: systemd reads such a file as root before the service starts

_PLACE = re.compile(r"@([a-z]+)@")


@dataclass(frozen=True, slots=True)
class File:
    """One file. `once`: only the first installation writes it. After that it belongs to the operator, so it has no
    checksum."""

    path: Path
    text: str
    mode: int = PUBLIC
    once: bool = False


def files(site: Site) -> Iterator[File]:
    """All files of a service: first the files of the unit, then the files of its settings."""
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
    """The values for the placeholders of the templates. %i is systemd's specifier for the instance's name."""
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
    """The text of the settings file. The file must exist even without settings, because the unit names it."""
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


# Reads the user and the handler's folder from the files of an earlier installation, as defaults of the next one.

_USER = re.compile(r"^User=(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InstalledService:
    """The facts that an earlier installation has written. A field is None if the files do not say it, or cannot be
    read."""

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
