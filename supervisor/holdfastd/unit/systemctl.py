"""The commands that make systemd use new files, to be typed or run."""

from __future__ import annotations

import subprocess

from holdfast.errors import HoldfastError
from holdfastd.unit.site import USER, Site

Command = tuple[str, ...]


class SystemdError(HoldfastError):
    """A systemd command has failed."""


def commands(site: Site) -> list[Command]:
    """The commands that start the service now and after each boot."""
    users: list[Command] = [("systemd-sysusers", "holdfast.conf")] if site.user == USER else []
    return [
        *users,
        ("systemd-tmpfiles", "--create", "holdfast.conf"),
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", "--now", site.unit),
    ]


def start(site: Site) -> None:
    """Run all commands. Raises SystemdError with the output of the first one that fails."""
    for command in commands(site):
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        except FileNotFoundError as error:
            raise SystemdError(f"{command[0]}: not found: is this machine run by systemd?") from error
        if done.returncode != 0:
            raise SystemdError(f"{' '.join(command)}: {done.stderr.strip() or f'exit status {done.returncode}'}")
