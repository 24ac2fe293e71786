"""The steward's word of a death meets a broken network: recovered once, charged once, however often it arrives."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Iterator

import pytest

from tests.faults.network import LATE, UNTOLD, behind_a_proxy
from tests.faults.proxy import Action
from tests.faults.scene import Scene

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy() as scene:
        yield scene


@pytest.fixture(autouse=True)
def healed(scene: Scene) -> Iterator[None]:
    yield
    scene.proxy.clear()


@pytest.mark.parametrize("action", list(Action))
async def test_recover_puts_back_once(scene: Scene, action: Action) -> None:
    task, rule = f"t-{action}", scene.proxy.on("recover", action)
    await scene.submit(task, text="wait")
    _, pid = scene.started(task)
    os.kill(pid, signal.SIGKILL)
    assert scene.started(task)[0] == 2
    scene.pool.until("worker recovered", cause="signal: SIGKILL", tasks=0 if action in UNTOLD else 1)
    rule.wait().release()
    if action in UNTOLD:
        assert rule.answer() == b":1\r\n"
    if action in LATE:
        assert rule.answer() == b":0\r\n"
    scene.go(task)
    record = await scene.completed(task)
    assert (record.deliveries, record.crashes, scene.runs(task)) == (2, 1, 2)
    await scene.check()
