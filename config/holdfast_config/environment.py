"""What other parts need of the environment. Nothing outside this package reads `os.environ`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from holdfast_config import kill_spec, names

# Of others' libraries that the supervisor uses: PostgreSQL's login, and what opens an OpenTelemetry collector.
_LOGINS = ("PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY")
_COLLECTOR = re.compile(r"OTEL_EXPORTER_OTLP_(\w+_)?(HEADERS|CLIENT_KEY)")
_KEPT_BACK = frozenset(
    {
        *names.in_environment((*names.SECRETS, "webhook_url")),
        *_LOGINS,
        "CREDENTIALS_DIRECTORY",
        "TRACEPARENT",
        "TRACESTATE",
    }
)


def notify_socket(environ: Mapping[str, str] = os.environ) -> str | None:
    """Where systemd listens (`@` first: an abstract socket), or None when it did not start this process."""
    return environ.get("NOTIFY_SOCKET") or None


def watchdog_usec(environ: Mapping[str, str] = os.environ) -> int | None:
    """The watchdog's interval in microseconds, or None when there is none, or it is meant for another process."""
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    text = environ.get("WATCHDOG_USEC", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def is_service(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether systemd started this process for a service: it names the folders, or listens for it."""
    return any(environ.get(name) for name in ("NOTIFY_SOCKET", "RUNTIME_DIRECTORY", "STATE_DIRECTORY"))


def no_color(environ: Mapping[str, str] = os.environ) -> bool:
    """Colours are unwanted (no-color.org: set and not empty), or the terminal cannot show them."""
    return bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"


def kill_at(environ: Mapping[str, str] = os.environ) -> str:
    """At which points processes are to end themselves, as text; empty: at none."""
    return environ.get(kill_spec.VARIABLE, "")


def search_path(environ: Mapping[str, str] = os.environ) -> str:
    """The folders, joined by colons, where commands are looked for."""
    return environ.get("PATH", os.defpath)


def for_commands(environ: Mapping[str, str] = os.environ, wanted: Collection[str] = ()) -> dict[str, str]:
    """What a command that is started for a task inherits: everything but the secrets that the supervisor uses itself
    and another's trace. `wanted`: what it gets all the same."""
    return {
        name: value
        for name, value in environ.items()
        if name in wanted or not (name in _KEPT_BACK or _COLLECTOR.fullmatch(name))
    }


def credential(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The systemd credential of this name without its final line break, or None. OSError if it cannot be read."""
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        return None
    try:
        return Path(folder, name).read_text("utf-8").rstrip("\r\n")
    except FileNotFoundError:
        return None
