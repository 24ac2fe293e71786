"""Prepares the child of each kind: the function that it runs and its process name."""

from __future__ import annotations

import contextlib
import os
import socket
import uuid
from collections.abc import Collection

from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed
from holdfastd.core.slots import ChildKind, Slot
from holdfastd.embedded.launch import StoreLaunch
from holdfastd.parent import child_setup
from holdfastd.parent.child_setup import ChildSetup
from holdfastd.parent.service_spec import EmbeddedStore, ServiceSpec, WorkerBody

_SHORT = {ChildKind.WORKER: "w", ChildKind.QUARANTINE: "q"}  # the kernel keeps fifteen letters of a process's name


class ChildFactory:
    """Creates child setups. It holds the embedded store's command and descriptors from `prepare` until the store
    runs."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._spec = spec
        self._work: dict[int, WorkerBody] = {0: spec.worker}  # by generation
        self._launch: StoreLaunch | None = None

    def prepare(self) -> None:
        """Prepare the first run of the embedded store, if there is one. Raises StoreLaunchError."""
        if self._spec.store is not None:
            self._launch = self._spec.store.prepare(True)

    def reread(self, generation: int, needed: Collection[int]) -> None:
        """Read the settings for workers of this generation, and forget all earlier generations but the `needed` ones.

        Raises ConfigError, and changes nothing then.
        """
        body = self._spec.reread()
        self._work = {known: work for known, work in self._work.items() if known in needed} | {generation: body}

    def create(self, slot: Slot, first: bool, generation: int) -> ChildSetup:
        """A new incarnation for this slot. Raises StoreLaunchError."""
        incarnation = uuid.uuid4().hex
        spec, body = self._spec, self._work[generation]
        match slot.kind:
            case ChildKind.WORKER | ChildKind.QUARANTINE:

                def work(channel: socket.socket) -> int:
                    return body(incarnation, slot, channel)

                return ChildSetup(
                    incarnation,
                    f"holdfast: {_SHORT[slot.kind]}{slot.number}",
                    f"holdfast: {slot}",
                    work,
                    spec.kept,
                )
            case ChildKind.STEWARD:

                def serve(channel: socket.socket) -> int:
                    return spec.steward(first, channel)

                return ChildSetup(incarnation, "holdfast: stew", f"holdfast: {slot}", serve)
            case ChildKind.WATCHER:
                assert spec.watcher is not None
                return ChildSetup(incarnation, "holdfast: watch", f"holdfast: {slot}", spec.watcher)
            case ChildKind.STORE:
                return self._store(incarnation)

    def forked(self, slot: Slot) -> None:
        """The child runs: close the parent's copies of descriptors that were held for it."""
        if slot.kind is ChildKind.STORE and self._launch is not None:
            for descriptor in self._launch.inherit:
                os.close(descriptor)
            self._launch = None

    def start_failure(self, slot: Slot, pid: int) -> BootFailed | None:
        """The error of a dead store from its log, as the store does not speak the channel protocol; None for other
        children."""
        store = self._spec.store
        words = store.start_failure(pid) if store is not None and slot.kind is ChildKind.STORE else ""
        return BootFailed(ChildExit.UNAVAILABLE, words) if words else None

    def _store(self, incarnation: str) -> ChildSetup:
        assert self._spec.store is not None
        launch = self._launch = self._launch or self._spec.store.prepare(False)

        def serve(_: socket.socket) -> int:
            child_setup.execute(launch.argv, launch.inherit, incarnation)

        return ChildSetup(incarnation, "holdfast: store", "holdfast: store", serve, launch.inherit)


def accepts_connections(store: EmbeddedStore) -> bool:
    """True if the embedded store accepts connections. Connecting to a unix socket never waits."""
    with socket.socket(socket.AF_UNIX) as trial, contextlib.suppress(OSError):
        trial.setblocking(False)
        trial.connect(str(store.path))
        return True
    return False
