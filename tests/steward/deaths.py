"""A steward that is killed at a chosen moment of a recovery."""

from __future__ import annotations

import os
import signal
import socket
from typing import Any

import anyio

from holdfast.ipc.child_end import ParentLink
from holdfast.store import open_store
from holdfast.telemetry.port import Telemetry
from holdfastd.steward.steward_process import Steward
from holdfastd.steward.steward_spec import StewardSpec


class DeadlyStore:
    """A real store whose user dies at `recover`, right before or right after the store has done it."""

    def __init__(self, store: Any, moment: str) -> None:
        self._store = store
        self._moment = moment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def recover(self, incarnation: str, cause: str, charged: bool, **how: Any) -> int:
        if self._moment == "after-recovering":
            await self._store.recover(incarnation, cause, charged, **how)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


def run(spec: StewardSpec, channel: socket.socket, moment: str) -> int:
    async def serve() -> int:
        async with open_store(spec.settings.redis) as store:
            return await Steward(spec, DeadlyStore(store, moment), ParentLink(channel), Telemetry()).live()

    return anyio.run(serve, backend_options={"use_uvloop": True})
