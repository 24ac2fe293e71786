"""What is born into a slot: the body a child of each kind runs, and the name it bears."""

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
    """Holds what the embedded store needs before it runs, from when it was prepared until it runs."""

    def __init__(self, household: ServiceSpec) -> None:
        self._household = household
        self._work: dict[int, WorkerBody] = {0: household.worker}  # by generation
        self._launch: StoreLaunch | None = None

    def prepare(self) -> None:
        """Make the embedded store ready for its first run, if there is one. Raises StoreLaunchError."""
        if self._household.store is not None:
            self._launch = self._household.store.prepare(True)

    def reread(self, generation: int, needed: Collection[int]) -> None:
        """Read what workers of this generation are to do, and forget all but the `needed` earlier ones.

        Raises ConfigError, and changes nothing then.
        """
        body = self._household.reread()
        self._work = {known: work for known, work in self._work.items() if known in needed} | {generation: body}

    def of(self, slot: Slot, first: bool, generation: int) -> ChildSetup:
        """A new incarnation for this slot. Raises StoreLaunchError."""
        incarnation = uuid.uuid4().hex
        household, body = self._household, self._work[generation]
        match slot.kind:
            case ChildKind.WORKER | ChildKind.QUARANTINE:

                def work(channel: socket.socket) -> int:
                    return body(incarnation, slot, channel)

                return ChildSetup(
                    incarnation,
                    f"holdfast: {_SHORT[slot.kind]}{slot.number}",
                    f"holdfast: {slot}",
                    work,
                    household.kept,
                )
            case ChildKind.STEWARD:

                def serve(channel: socket.socket) -> int:
                    return household.steward(first, channel)

                return ChildSetup(incarnation, "holdfast: stew", f"holdfast: {slot}", serve)
            case ChildKind.WATCHER:
                assert household.watcher is not None
                return ChildSetup(incarnation, "holdfast: watch", f"holdfast: {slot}", household.watcher)
            case ChildKind.STORE:
                return self._store(incarnation)

    def born(self, slot: Slot) -> None:
        """It runs: what was only held for it is its own now."""
        if slot.kind is ChildKind.STORE and self._launch is not None:
            for descriptor in self._launch.inherit:
                os.close(descriptor)
            self._launch = None

    def complaint(self, slot: Slot, pid: int) -> BootFailed | None:
        """What a dead child could not say by itself: the store does not speak our language."""
        store = self._household.store
        words = store.complaint(pid) if store is not None and slot.kind is ChildKind.STORE else ""
        return BootFailed(ChildExit.UNAVAILABLE, words) if words else None

    def _store(self, incarnation: str) -> ChildSetup:
        assert self._household.store is not None
        launch = self._launch = self._launch or self._household.store.prepare(False)

        def serve(_: socket.socket) -> int:
            child_setup.execute(launch.argv, launch.inherit, incarnation)

        return ChildSetup(incarnation, "holdfast: store", "holdfast: store", serve, launch.inherit)


def serves(store: EmbeddedStore) -> bool:
    """Whether the embedded store accepts connections. Connecting to a unix socket never waits."""
    with socket.socket(socket.AF_UNIX) as trial, contextlib.suppress(OSError):
        trial.setblocking(False)
        trial.connect(str(store.path))
        return True
    return False
