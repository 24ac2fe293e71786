"""Sentinel puts another server in the master's place: one that has everything, one that lags; an old one wakes up."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from holdfast.core.acceptance import Accepted
from tests.constellations import MASTER, Sentinels, does, sentinels, until
from tests.faults.scene import PATIENT, stage
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

HOUR = 3_600_000  # ms
# The process that lets the replica follow, so that the test can end it.
REPLICATION = (
    "--user",
    "replica",
    "on",
    ">r",
    "+psync",
    "+replconf",
    "+ping",
    "--masteruser",
    "replica",
    "--masterauth",
    "r",
)
# Only a master that somebody follows takes writes.
CAREFUL = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "3")


def _kill(group: Sentinels) -> None:
    group.master.kill()


def _ask_for_failover(group: Sentinels) -> None:
    """As an operator does; the old master is told to follow, and cuts its clients."""
    until(lambda: does(lambda: group.sentinels[0].ask("SENTINEL", "FAILOVER", MASTER)))
    until(lambda: "role:slave" in group.master.ask("INFO", "replication"))


@pytest.mark.parametrize("fail_over", [_kill, _ask_for_failover], ids=["killed", "asked for"])
async def test_failover_to_a_replica_that_has_everything_costs_a_delay(
    fail_over: Callable[[Sentinels], None], short_path: Path
) -> None:
    with sentinels(short_path / "group") as group:
        async with stage(short_path, group=group, workers=1, concurrency=1) as scene:
            waiting = [f"waiting{n}" for n in range(20)]
            await scene.submit("running", text="wait")
            scene.started("running")
            await scene.submit(*waiting, text="quick")
            assert group.master.ask("WAIT", 1, 10_000) == 1
            fail_over(group)
            scene.pool.until("the store does not answer; waiting")
            scene.go("running")
            await scene.ran_once("running", *waiting)
            assert scene.runs("running") == 1
            assert group.named() is group.replica
            assert scene.pool.deaths() == []


def _lag(group: Sentinels) -> None:
    """From here on the replica hears nothing."""
    group.master.ask("ACL", "SETUSER", "replica", "off")
    group.master.ask("CLIENT", "KILL", "TYPE", "replica")
    until(lambda: "master_link_status:down" in group.replica.ask("INFO", "replication"))


def _seen_by_the_steward(group: Sentinels) -> None:
    """The events up to now; nobody else reads the stream of events from its end."""

    def looks() -> int:
        match = re.search(r"cmdstat_xrevrange:calls=(\d+)", group.master.ask("INFO", "commandstats"))
        return int(match[1]) if match else 0

    before = looks()
    until(lambda: looks() > before)


async def test_failover_to_a_replica_that_lags_loses_what_it_had_not_heard_and_says_so(short_path: Path) -> None:
    with sentinels(short_path / "group", *REPLICATION) as group:
        async with stage(short_path, group=group, concurrency=1) as scene:
            await scene.submit("kept", text="wait")
            await scene.submit("waiting", delay_ms=HOUR)
            scene.started("kept")
            assert group.master.ask("WAIT", 1, 10_000) == 1
            _lag(group)
            await scene.submit("lost", text="wait")
            await scene.submit("forgotten", delay_ms=HOUR)
            scene.started("lost")
            _seen_by_the_steward(group)
            group.master.kill()
            scene.pool.until("the store does not answer; waiting")
            scene.go("kept")
            record = await scene.completed("kept")
            assert (record.deliveries, scene.runs("kept")) == (1, 1)
            scene.pool.wait_for("the store has lost its latest writes")
            scene.pool.until_status(lambda status: "the store went back by" in status)
            scene.pool.wait_for("stopped a handler")  # of the lost one: its worker does not own it any more
            assert [await PATIENT.call(scene.store.get, task_id) for task_id in ("lost", "forgotten")] == [None, None]
            assert await PATIENT.call(scene.store.get, "waiting") is not None
            await PATIENT.call(scene.submit, "lost", text="echo")  # who knows of it submits it again
            await scene.completed("lost")
            assert scene.pool.deaths() == []


def _followed_by_nobody(group: Sentinels) -> bool:
    info = group.master.ask("INFO", "replication")
    return "role:slave" in info or "min_slaves_good_slaves:0" in info


async def test_an_old_master_that_wakes_up_refuses_writes_and_is_left(short_path: Path) -> None:
    with sentinels(short_path / "group", *CAREFUL, replicas=2) as group:
        async with stage(short_path, group=group) as scene:
            await scene.submit("running", text="wait")  # over a connection that will not hear of the failover
            scene.started("running")
            group.master.signal(signal.SIGSTOP)
            until(lambda: group.named() is not group.master)
            scene.pool.until("the store does not answer; waiting")
            group.master.signal(signal.SIGCONT)
            until(lambda: _followed_by_nobody(group))
            with pytest.raises(redis.ResponseError, match=r"NOREPLICAS|READONLY|read only replica"):
                group.master.ask("RPUSH", QUEUE, "a foreign producer's")
            assert await PATIENT.call(scene.store.submit, [submission("new", "echo")]) == [Accepted.NEW]
            scene.go("running")
            for task_id in ("running", "new"):
                await scene.completed(task_id)
            assert scene.runs("new") == 1
            assert group.named().ask("EXISTS", f"{{{QUEUE}}}:task:new") == 1
