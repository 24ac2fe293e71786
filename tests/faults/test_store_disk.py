"""The disk under the store's log: full, with a restart on top; and a log whose last write was torn."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.errors import StoreError
from tests.cli.limits import limited
from tests.faults.scene import Scene, stage
from tests.faults.work import named_pipe
from tests.servers import bundled

pytestmark = pytest.mark.anyio

LOGGED = ("--appendonly", "yes", "--appendfsync", "everysec")
LARGE = "quick " + "x" * 100_000
ROOM = 1100  # KiB
TORN = b"*3\r\n$4\r\nHSET\r\n$12\r\nwhat was"


def small_disk(folder: Path) -> Path:
    """The server on a disk that is soon full."""
    program = folder / "server-on-a-small-disk"
    before = " ".join(f"'{word}'" for word in limited(kib=ROOM))
    program.write_text(f'#!/bin/sh\nexec {before} {bundled()} "$@"\n')
    program.chmod(0o755)
    return program


async def fill(scene: Scene) -> list[str]:
    """Submit until it is refused; what was accepted."""
    accepted: list[str] = []
    with suppress(StoreError):
        while len(accepted) < 100:
            await scene.submit(f"later{len(accepted)}", text=LARGE, delay_ms=3_600_000)
            accepted.append(f"later{len(accepted)}")
    assert 0 < len(accepted) < 100
    return accepted


# By how often the log is synced: how the store takes a full disk, and how many answered tasks it may lose with it.
@pytest.mark.parametrize(
    ("fsync", "said", "lost"), [("everysec", "cannot write to its disk", 1), ("always", "cannot be reached", 0)]
)
async def test_a_full_disk_and_a_restart_lose_no_result(short_path: Path, fsync: str, said: str, lost: int) -> None:
    """With everysec the one write that meets the end of the disk is answered before the store knows, and all later ones
    are refused; with always the store ends before it answers."""
    logged = ("--appendonly", "yes", "--appendfsync", fsync)
    async with stage(short_path, server=logged, program=small_disk(short_path)) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("t", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            accepted = await fill(scene)
            end.write("kept while the disk was full")
        scene.pool.until_status(lambda status: said in status)
        scene.signal_server(signal.SIGKILL)
        scene.serve_again(*logged)  # on a disk with room
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert b"kept while the disk was full" in (record.result or b"")
        kept = [task_id for task_id in accepted if await scene.store.get(task_id)]
        assert kept == accepted[: len(kept)]
        assert len(kept) >= len(accepted) - lost
        assert scene.pool.deaths() == []
        scene.pool.until_status(lambda status: said not in status)


async def test_a_torn_tail_of_the_log_loses_nothing_that_was_answered(short_path: Path) -> None:
    """The write that was torn was never answered: the server cuts it off, as long as its settings let it."""
    async with stage(short_path, server=LOGGED) as scene:
        pipe = named_pipe(short_path)
        later = [f"later{n}" for n in range(20)]
        await scene.submit("t", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            await scene.submit(*later, text="quick", delay_ms=200)
            scene.signal_server(signal.SIGKILL)
            scene.pool.until("the store does not answer; waiting")
            end.write("done while the store was dead")
        (log,) = (short_path / "server" / "appendonlydir").glob("*.incr.aof")
        with log.open("ab") as tail:
            tail.write(TORN)
        scene.serve_again(*LOGGED)
        await scene.ran_once("t", *later)
        assert TORN not in log.read_bytes()
        assert scene.pool.deaths() == []
