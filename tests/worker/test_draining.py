"""Orders to drain: a later one can only hasten the first."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from holdfast.core.pull_protocol import Exchange
from holdfast.ipc.channel import Drain
from holdfast.store.memory import MemoryStore
from holdfast.worker.context import WorkerContext, WorkerSpec
from holdfast.worker.worker import WorkerDrain
from holdfast_config import Settings

pytestmark = pytest.mark.anyio

PATIENCE = 30  # seconds; reached only by a test that fails


class Unsettled(Exchange):
    """Something is always held, and left to do."""

    settled = False  # type: ignore[assignment] # a property there
    is_idle = False  # type: ignore[assignment] # a property there


@pytest.mark.parametrize("cancel_at", [0.0, float("inf")])
async def test_a_later_order_does_not_lengthen_the_first(cancel_at: float) -> None:
    stopped: list[str] = []
    given_back: list[str] = []
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q"))
    context.state.exchange = Unsettled(1)
    ahead: Any = SimpleNamespace(
        runner=SimpleNamespace(tasks=SimpleNamespace(stop_all=stopped.append)), give_back=given_back.append
    )
    draining = WorkerDrain(context, ahead)
    over = time.monotonic()
    draining.begin(Drain(over, over))
    draining.begin(Drain(cancel_at, float("inf")))
    assert given_back[0] == "drain"  # at once: others may begin it
    with anyio.fail_after(PATIENCE):
        await draining.serve()
    assert stopped == ["drain"]
