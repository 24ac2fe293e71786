"""Generates the files of a service: paths, contents and permissions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

from holdfast_config import names
from holdfastd.unit.checksum import sealed
from holdfastd.unit.site import ETC, SETTINGS, USER, Site

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
    """The settings file. It must exist, as the unit names it; it may contain no settings."""
    lines = [
        "# The settings of the service; `supervisor start --help` lists them all. Everybody can read this file:",
        f"# secrets belong in {ETC}/credentials. Environment files beside it override it.",
        *(f"{field} = {json.dumps(_plain(value))}" for field, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


def _variables(site: Site) -> str:
    settings = {"queue_name": f"{site.instance}:tasks", **site.settings}
    lines = [
        f"# The settings of {site.unit}; they override those of {SETTINGS}, which all instances share.",
        *(f"{names.own(field)}={json.dumps(str(value))}" for field, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
