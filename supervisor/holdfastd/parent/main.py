"""`supervisor start`: from settings to the exit status of the service."""

from __future__ import annotations

import socket
from functools import partial

from holdfast.exits import Exit
from holdfast.worker.main import run as work
from holdfast.worker.spec import WorkerSpec
from holdfast_config import Settings
from holdfast_config.settings import STORE_SOCKET
from holdfastd.core.policy import Policy
from holdfastd.parent import folders, preload
from holdfastd.parent.alone import Announce, supervise
from holdfastd.parent.household import EmbeddedStore, Household
from holdfastd.steward.main import run as serve
from holdfastd.steward.spec import StewardSpec
from holdfastd.store.launch import prepare


def run(settings: Settings, announce: Announce) -> int:
    """Be the supervisor of these settings until it is told to stop; the exit status. `announce` prints for humans."""
    try:
        folders.make(settings.runtime_dir, settings.state_dir)
    except PermissionError as error:
        announce(f"no permission for {error.filename}: choose another --runtime-dir or --state-dir")
        return Exit.PERMISSION
    preload.preload()
    return supervise(household(settings), announce)


def household(settings: Settings) -> Household:
    """What these settings ask for."""

    def worker(incarnation: str, slot: int, channel: socket.socket) -> int:
        return work(WorkerSpec(incarnation, slot, settings), channel)

    def steward(first: bool, channel: socket.socket) -> int:
        return serve(StewardSpec(settings, first), channel)

    store = EmbeddedStore(partial(prepare, settings), settings.runtime_dir / STORE_SOCKET)
    return Household(
        policy=Policy(settings.drain_timeout, settings.hang_timeout, settings.boot_timeout),
        workers=settings.workers,
        runtime_dir=settings.runtime_dir,
        store_url=settings.redis.masked_url,
        worker=worker,
        steward=steward,
        store=store if settings.embedded else None,
    )
