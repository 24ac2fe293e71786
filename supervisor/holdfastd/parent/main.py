"""`supervisor start`: from settings to the exit status of the service."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial

from holdfast.exits import Exit
from holdfast.worker.main import run as work
from holdfast.worker.spec import WorkerSpec
from holdfast_config import Settings
from holdfast_config.settings import STORE_SOCKET
from holdfastd.core import room
from holdfastd.core.policy import Policy
from holdfastd.parent import folders, host, preload
from holdfastd.parent.alone import Announce, supervise
from holdfastd.parent.household import EmbeddedStore, Household, WorkerBody
from holdfastd.parent.preloaded import preload_handler
from holdfastd.parent.rereading import unmoved
from holdfastd.steward.main import run as serve
from holdfastd.steward.spec import StewardSpec
from holdfastd.store.complaint import complaint
from holdfastd.store.launch import data_directory, prepare

ADVICE = "make it writable for this user, or choose another --runtime-dir or --state-dir"


def run(settings: Settings, announce: Announce, reread: Callable[[], Settings] | None = None) -> int:
    """Be the supervisor of these settings until it is told to stop; the exit status.

    `announce` prints for humans. `reread` gives the settings of a reload, and raises ConfigError.
    """
    try:
        folders.make(settings.runtime_dir, settings.state_dir)
    except OSError as error:
        announce(f"{error.filename}: {error.strerror}: {ADVICE}")
        return folders.status(error)
    host.raise_descriptors()
    if why_not := room.refusal(host.measure(), 0, settings.workers):
        announce(why_not)
        return Exit.CONFIG
    preload.preload()
    kept = preload_handler(settings, announce) if settings.preload else ()
    preload.freeze()
    return supervise(household(settings, reread, kept), announce)


def household(
    settings: Settings, reread: Callable[[], Settings] | None = None, kept: tuple[int, ...] = ()
) -> Household:
    """What these settings ask for; workers of a reload do what it asks for then. `kept`: descriptors of the handler."""

    def read_again() -> WorkerBody:
        return _worker(unmoved(settings, reread()) if reread else settings)

    def steward(first: bool, channel: socket.socket) -> int:
        return serve(StewardSpec(settings, first), channel)

    log = data_directory(settings).log_file
    store = EmbeddedStore(
        lambda first: prepare(settings, first=first), settings.runtime_dir / STORE_SOCKET, partial(complaint, log)
    )
    return Household(
        policy=Policy(settings.drain_timeout, settings.hang_timeout, settings.boot_timeout, preloaded=settings.preload),
        workers=settings.workers,
        runtime_dir=settings.runtime_dir,
        store_url=settings.redis.masked_url,
        worker=_worker(settings),
        steward=steward,
        reread=read_again,
        store=store if settings.embedded else None,
        kept=kept,
    )


def _worker(settings: Settings) -> WorkerBody:
    def worker(incarnation: str, slot: int, channel: socket.socket) -> int:
        return work(WorkerSpec(incarnation, slot, settings), channel)

    return worker
