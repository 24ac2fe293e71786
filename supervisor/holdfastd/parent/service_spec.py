"""Describes the service that a parent supervises: the processes to fork, the store, and its folders."""

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
    """The code that workers of one generation run. `load` imports the handler in the loader; it returns the descriptors
    that workers keep open for it, and raises NotShareableError. None: there is nothing to share."""

    run: WorkerBody
    load: Callable[[], tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class EmbeddedStore:
    """`prepare(first)` gives the command to run (StoreLaunchError if it cannot). Connections to `path` succeed once the
    store accepts them. `start_failure` of a process id: the error that kept it from starting, or empty."""

    prepare: Callable[[bool], StoreLaunch]
    path: Path
    start_failure: Callable[[int], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """`worker.run(incarnation, slot, channel)` and `steward(first, channel)` run in the child; `store_url` holds no
    password.

    `reread` gives the code of workers after a reload; it raises ConfigError. `group_verbs`: requests that members of
    the service's group may send to the control socket. `metrics`, `dashboard`: the sockets on which
    the steward and the web process serve them.
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
