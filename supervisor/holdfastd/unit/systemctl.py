"""What systemd has to be told about new files, as commands to type or to run."""

from __future__ import annotations

import subprocess

from holdfast.errors import HoldfastError
from holdfastd.unit.site import USER, Site

Order = tuple[str, ...]


class SystemdError(HoldfastError):
    """systemd would not do what it was told."""


def orders(site: Site) -> list[Order]:
    """From files on the disk to a service that runs, now and after each boot."""
    users: list[Order] = [("systemd-sysusers", "holdfast.conf")] if site.user == USER else []
    return [
        *users,
        ("systemd-tmpfiles", "--create", "holdfast.conf"),
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", "--now", site.unit),
    ]


def start(site: Site) -> None:
    """Run them all. Raises SystemdError with what the first that failed has said."""
    for order in orders(site):
        try:
            done = subprocess.run(order, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise SystemdError(f"{order[0]}: not found: is this machine run by systemd?") from error
        if done.returncode != 0:
            raise SystemdError(f"{' '.join(order)}: {done.stderr.strip() or f'exit status {done.returncode}'}")
