"""Reads environment variables that are not settings. Only this package reads `os.environ`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from holdfast_config import kill_spec, names

# Secrets of libraries that the supervisor uses: the login of PostgreSQL and the keys of an OpenTelemetry collector.
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
    """The socket on which systemd listens for notices. An abstract socket begins with `@`. None if systemd has not
    started this process."""
    return environ.get("NOTIFY_SOCKET") or None


def watchdog_usec(environ: Mapping[str, str] = os.environ) -> int | None:
    """The interval of systemd's watchdog in microseconds. None if the service has no watchdog, or if the watchdog is
    for another process."""
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    text = environ.get("WATCHDOG_USEC", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def is_service(environ: Mapping[str, str] = os.environ) -> bool:
    """True if systemd started this process as a service: then one of these variables is set."""
    return any(environ.get(name) for name in ("NOTIFY_SOCKET", "RUNTIME_DIRECTORY", "STATE_DIRECTORY"))


def no_color(environ: Mapping[str, str] = os.environ) -> bool:
    """True if colours are switched off (NO_COLOR is not empty) or the terminal cannot show them."""
    return bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"


def kill_at(environ: Mapping[str, str] = os.environ) -> str:
    """The kill points of fault tests as text; empty if there are none."""
    return environ.get(kill_spec.VARIABLE, "")


def search_path(environ: Mapping[str, str] = os.environ) -> str:
    """The folders in which commands are searched, joined by colons."""
    return environ.get("PATH", os.defpath)


def for_commands(environ: Mapping[str, str] = os.environ, wanted: Collection[str] = ()) -> dict[str, str]:
    """The environment of a command that runs a task: all variables but the supervisor's secrets and the trace of its
    start. `wanted`: names of secrets that the command gets all the same."""
    return {
        name: value
        for name, value in environ.items()
        if name in wanted or not (name in _KEPT_BACK or _COLLECTOR.fullmatch(name))
    }


def credential(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The text of the systemd credential `name`, without its final line break; None if there is none. Raises OSError if
    the credential is unreadable."""
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        return None
    try:
        return Path(folder, name).read_text("utf-8").rstrip("\r\n")
    except FileNotFoundError:
        return None
