"""What a parent is asked to look after: whom to fork and how, where its sockets and locks are."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfastd.core.policy import SupervisionPolicy
from holdfastd.core.slots import Slot
from holdfastd.embedded.launch import StoreLaunch

WorkerBody = Callable[[str, Slot, socket.socket], int]
StewardBody = Callable[[bool, socket.socket], int]


@dataclass(frozen=True, slots=True)
class EmbeddedStore:
    """`prepare(first)` gives what to run (StoreLaunchError if it cannot be). Connections to `path` succeed once it
    serves. `complaint` of a process id: why it could not start, or empty."""

    prepare: Callable[[bool], StoreLaunch]
    path: Path
    complaint: Callable[[int], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """`worker(incarnation, slot, channel)` and `steward(first, channel)` run in the child; `store_url` may be shown.

    `reread` gives what workers run after a reload; it raises ConfigError. `kept`: descriptors that workers inherit.
    `group_verbs`: what members of the group may ask of the control socket.
    """

    policy: SupervisionPolicy
    workers: int
    runtime_dir: Path
    store_url: str
    worker: WorkerBody
    steward: StewardBody
    reread: Callable[[], WorkerBody]
    store: EmbeddedStore | None = None
    watcher: Callable[[socket.socket], int] | None = None
    kept: tuple[int, ...] = ()
    queue: str = ""
    storage: str = ""
    group_verbs: tuple[str, ...] = ()
