"""Describes the service that a parent supervises: the processes to fork, the store, and the runtime folder."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from holdfastd.control.listening_socket import ListeningSocket
from holdfastd.core.slots import Slot, SupervisionPolicy
from holdfastd.embedded.launch import StoreLaunch

WorkerBody = Callable[[str, Slot, socket.socket], int]
StewardBody = Callable[[bool, socket.socket], int]


@dataclass(frozen=True, slots=True)
class WorkerCode:
    """The code that workers of one generation run. `load` imports the handler in the loader, and returns the
    descriptors that workers keep open for it. It raises NotShareableError. If `load` is None, there is no loader.
    `not_applied`: the names of changed settings that need a restart of the service."""

    run: WorkerBody
    load: Callable[[], tuple[int, ...]] | None = None
    not_applied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddedStore:
    """The store that the parent starts. `prepare(first)` gives the command to run, or raises StoreLaunchError. `path`:
    the store's socket. `start_failure(pid)`: the error because of which this process did not start, or empty."""

    prepare: Callable[[bool], StoreLaunch]
    path: Path
    start_failure: Callable[[int], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One service. `worker.run(incarnation, slot, channel)` and `steward(first, channel)` run in the child. `store_url`
    contains no password.

    `reread` gives the code of the workers after a reload; it raises ConfigError. `group_verbs`: requests that members
    of the service's group may send to the control socket. `metrics`: the socket on which the steward serves metrics.
    `dashboard`: the socket on which the web process serves the dashboard.
    `sends_logs`: the steward sends the parent's log to a collector.
    """

    policy: SupervisionPolicy
    workers: int
    runtime_dir: Path
    store_url: str
    worker: WorkerCode
    steward: StewardBody
    reread: Callable[[], WorkerCode]
    store: EmbeddedStore | None = None
    watcher: Callable[[socket.socket], int] | None = None
    queue: str = ""
    storage: str = ""
    group_verbs: tuple[str, ...] = ()
    metrics: ListeningSocket = field(default_factory=ListeningSocket)
    sends_logs: bool = False
    web: Callable[[socket.socket], int] | None = None
    dashboard: ListeningSocket = field(default_factory=ListeningSocket)
