"""Renewals meet a broken network: a worker keeps what it runs as long as its lease, or its steward, speaks for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from tests.faults.network import LATE, behind_a_proxy, kill_worker
from tests.faults.process import Pool
from tests.faults.proxy import Action
from tests.faults.scene import Scene

pytestmark = pytest.mark.anyio

FOR_EVER = 1_000_000
LEASE = 1.2  # seconds; a renewal every third of it


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy(lease=LEASE, lease_grace=0.3) as scene:
        yield scene


@pytest.fixture(autouse=True)
def healed(scene: Scene) -> Iterator[None]:
    yield
    scene.proxy.clear()


def _words(answer: bytes) -> bytes:
    """The content of an answer, without its length."""
    return answer.partition(b"\r\n")[2]


@pytest.mark.parametrize("action", list(Action))
async def test_renew_changes_nothing(scene: Scene, action: Action) -> None:
    task = f"renew-{action}"
    await scene.submit(task, text="wait")
    scene.started(task)
    rule = scene.proxy.on("renew", action)
    again = scene.proxy.on("renew", Action.WATCH, nth=2)
    rule.wait()
    again.wait()
    rule.release()
    if action in LATE:
        assert _words(rule.answer()).startswith(b"$2\r\nOK\r\n*0\r\n:0\r\n")
    scene.go(task)
    record = await scene.completed(task)
    assert (record.deliveries, record.crashes, scene.runs(task)) == (1, 0, 1)
    await scene.check()


async def test_pause_whose_hint_was_lost_is_heard_with_a_renewal(scene: Scene) -> None:
    await scene.submit("paused", text="wait")
    scene.started("paused")
    hints = scene.proxy.on("BLPOP", Action.CUT, times=FOR_EVER, about=":bell:")
    await scene.submit("another")  # what the worker waits for by now was asked before that
    await scene.completed("another")
    hints.met()
    assert await scene.store.pause("paused", "test") == "working"
    scene.happened("suspended", "paused")
    hints.end()
    assert (await scene.record("paused")).state is State.SUSPENDED
    assert await scene.store.resume("paused", "test") == "submitted"
    assert scene.started("paused")[0] == 2
    scene.go("paused")
    await scene.completed("paused")
    await scene.check()


async def test_renew_that_comes_when_its_worker_was_recovered_is_told_so(scene: Scene) -> None:
    await scene.submit("t", text="wait")
    scene.started("t")
    rule = scene.proxy.on("renew", Action.HOLD).wait()
    kill_worker(scene)
    assert scene.started("t")[0] == 2
    rule.release()
    assert _words(rule.answer()).startswith(b"$4\r\nDEAD\r\n")
    scene.go("t")
    record = await scene.completed("t")
    assert (record.deliveries, record.crashes, scene.runs("t")) == (2, 1, 2)
    await scene.check()


@pytest.mark.parametrize("action", [Action.DROP, Action.CUT, Action.BLACK_HOLE])
async def test_checkpoint_whose_renewal_failed_goes_with_the_next(scene: Scene, action: Action) -> None:
    task, text = f"mark-{action}", f"page-7-{action}"
    rule = scene.proxy.on("renew", action, about=text)
    await scene.submit(task, text=f"mark {text}")
    scene.started(task)
    rule.wait()
    scene.proxy.on("renew", Action.WATCH, about=task).wait()
    kill_worker(scene)
    record = await scene.completed(task)
    assert record.result is not None
    assert text.encode() in record.result
    assert (record.deliveries, record.crashes, scene.runs(task)) == (2, 1, 2)


async def test_renewals_lost_for_less_than_the_lease_change_nothing(scene: Scene) -> None:
    await scene.submit("kept", text="wait")
    scene.started("kept")
    lost = scene.proxy.on("renew", Action.DROP, times=1000)
    others = scene.proxy.on("vouch", Action.DROP, times=1000)
    lost.wait()
    others.wait()
    lost.end()
    others.end()
    scene.proxy.on("renew", Action.WATCH).wait()
    scene.go("kept")
    record = await scene.completed("kept")
    assert (record.deliveries, record.crashes, scene.runs("kept")) == (1, 0, 1)


async def test_steward_vouches_for_a_worker_whose_renewals_are_lost_past_its_lease(scene: Scene) -> None:
    await scene.submit("vouched", text="wait")
    _, pid = scene.started("vouched")
    scene.proxy.on("renew", Action.DROP, times=1000)
    reaped = scene.proxy.on("reap", Action.WATCH, nth=14)  # one every 0.15 s: a lease, a grace, and a little
    reaped.wait()
    scene.proxy.clear()
    scene.go("vouched")
    record = await scene.completed("vouched")
    assert (record.deliveries, record.crashes, scene.runs("vouched")) == (1, 0, 1)
    assert scene.pool.pid_of("worker 0") == pid


async def test_host_that_is_cut_off_past_its_lease_loses_its_tasks_to_another_and_its_workers_end(
    short_path: Path,
) -> None:
    (short_path / "other").mkdir()
    async with behind_a_proxy(lease=LEASE, lease_grace=0.3) as scene:
        await scene.submit("t", text="wait")
        _, first = scene.started("t")
        other = Pool(short_path / "other", scene.url, **{**scene.flags, "redis_url": scene.url})
        try:
            other.ready(1)
            scene.proxy.cut_off()
            other.until("lost worker recovered: its lease expired", tasks=1)
            delivery, second = scene.started("t")
            scene.proxy.heal()
            scene.pool.until("died", pid=first, cause="fenced: status 82")
            scene.go("t")
            record = await scene.completed("t")
            assert (delivery, record.deliveries, record.crashes, scene.runs("t")) == (2, 2, 0, 2)
            assert second != first
            assert other.stop() == 0
        finally:
            other.close()
