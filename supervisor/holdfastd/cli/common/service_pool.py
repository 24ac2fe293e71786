"""Finds the service of this host for a command whose project has no supervisor. For root every command uses the
service, for other users the commands that only read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast_config import service_folders
from holdfast_config.trust import is_trusted

if TYPE_CHECKING:
    from holdfast_config import Settings
    from holdfast_config.service_folders import RunningPool

ANSWER_TIMEOUT = 1.0  # seconds: the parent answers at once
DATA = Path("/var/lib")  # where systemd makes state folders, under the names of runtime folders
MASKED = "***"


def found(settings: Settings, services: Sequence[RunningPool] | None = None, *, changes: bool = False) -> Path | None:
    """The runtime folder of the only service of this host. None if there are none or several, if the settings name a
    runtime folder, or if the queue is in memory. None also if the project's own supervisor or embedded store runs, or
    if another user could have made the project's runtime folder: then the command refuses that folder. `changes`: for a
    command that changes something. It gets the service only for root, and not if the project has data of its own."""
    if changes and (os.geteuid() or service_folders.holds_data(settings.state_dir)):
        return None
    if settings.runtime_folder.named or settings.scheduler_type == "memory":
        return None
    if not is_trusted(settings.runtime_folder):
        return None
    own = (settings.runtime_dir / name for name in (service_folders.CONTROL_SOCKET, service_folders.STORE_SOCKET))
    if any(service_folders.listens(path) for path in own):
        return None
    there = service_folders.pool_services() if services is None else services
    return there[0].runtime_dir if len(there) == 1 else None


def of_service(settings: Settings, folder: Path, data: Path = DATA) -> Settings:
    """These settings with the folders of the service. If they name no store, they also get the service's store and
    queue."""
    changed: dict[str, object] = {"runtime_dir": folder}
    if (data / folder.name).is_dir():
        changed["state_dir"] = data / folder.name
    return settings.model_copy(update=changed | (_store(settings, folder) if settings.embedded else {}))


def _store(settings: Settings, folder: Path) -> dict[str, object]:
    """The settings that name the service's store and queue. There are none if the service does not answer this user.
    The URL is left out if the service has masked its password."""
    from holdfastd.control.client import ask  # slow to import, and rarely needed
    from holdfastd.control.socket_protocol import AskStatus, ControlError

    try:
        store = ask(folder, AskStatus(), ANSWER_TIMEOUT).store
    except (ControlError, OSError):  # the command itself will say why
        return {}
    changed: dict[str, object] = {} if store.embedded or MASKED in store.url else {"redis_url": store.url}
    if store.queue and "queue_name" not in settings.model_fields_set:
        changed["queue_name"] = store.queue
    return changed
