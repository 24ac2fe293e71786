"""A master found by Sentinel: work over it, failovers, sentinels that refuse, are away or are none."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from holdfast.core.store_info import ServerAddress
from holdfast.core.task_states import State
from holdfast.errors import StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.store.redis import RedisStore
from tests.constellations import MASTER, Sentinels, sentinels, until
from tests.lua.operations import introduction
from tests.redis.work import PATIENT, claim, opened, round_of_work, settle, with_files

pytestmark = pytest.mark.anyio

USERS = (
    "user default off",
    "user peer on >pp allchannels +@all",
    "sentinel sentinel-user peer",
    "sentinel sentinel-pass pp",
    "user eve on >ep resetchannels -@all +client|setname +sentinel|get-master-addr-by-name",
)


@pytest.fixture(scope="module")
def group(folder: Path) -> Iterator[Sentinels]:
    """Healthy for the whole module: who breaks one takes another."""
    (folder / "group").mkdir()
    with sentinels(folder / "group") as made:
        yield made


async def test_work_is_done_on_the_master_that_sentinel_names(group: Sentinels) -> None:
    await round_of_work(group.url)


async def test_the_doctor_is_told_which_server_it_is_and_who_follows(group: Sentinels) -> None:
    async with opened(group.url) as (store, queue):
        assert store.address() is None, "nobody was asked yet"
        server = (await store.examine([queue], 0.0)).server
        assert store.address() == ServerAddress(group.master.host, group.master.port)
    assert server is not None
    assert (server.found_by, server.address, server.replicas) == ("sentinel", group.master.address, 1)
    assert not server.careful
    group.master.ask("CONFIG", "SET", "min-replicas-to-write", 1)
    async with opened(group.url) as (store, queue):
        server = (await store.examine([queue], 0.0)).server
        assert server is not None
        assert server.careful


async def test_a_sentinel_that_is_away_is_passed_over(group: Sentinels) -> None:
    await round_of_work(group.url.replace("://", f"://{group.master.host}:1,"))


async def test_a_master_that_no_sentinel_knows_is_an_error_that_names_it(group: Sentinels) -> None:
    async with opened(group.url.replace(f"/{MASTER}", "/others")) as (store, _):
        with pytest.raises(StoreError, match="knows no master 'others'") as refused:
            await store.ping()
    assert not isinstance(refused.value, StoreUnavailableError)


async def test_a_server_that_is_no_sentinel_is_an_error_that_says_so(group: Sentinels) -> None:
    async with opened(f"redis+sentinel://{group.master.address}/{MASTER}") as (store, _):
        with pytest.raises(StoreError, match=rf"{group.master.address}: unknown command 'SENTINEL'"):
            await store.ping()


async def test_sentinels_that_are_all_away_are_waited_for(group: Sentinels) -> None:
    async with opened(f"redis+sentinel://{group.master.host}:1,{group.master.host}:2/{MASTER}") as (store, _):
        with pytest.raises(StoreUnavailableError, match=rf"{group.master.host}:1: .*; {group.master.host}:2: "):
            await store.ping()


async def test_sentinels_with_users_of_their_own_are_asked_with_their_login(short_path: Path) -> None:
    with sentinels(short_path, sentinel_lines=USERS, sentinel_login=("peer", "pp")) as made:
        await round_of_work(f"{made.url}?sentinel_username=eve&sentinel_password=ep")
        async with opened(f"{made.url}?sentinel_username=eve&sentinel_password=wrong") as (store, _):
            with pytest.raises(StoreRefusedError, match="password") as refused:
                await store.ping()
    assert "wrong" not in str(refused.value)


async def test_master_and_sentinels_are_reached_over_tls(tls_server: Path, short_path: Path) -> None:
    with sentinels(short_path, program=tls_server, tls=True) as made:
        await round_of_work(with_files(made.url, made.group))
        async with opened(made.url) as (store, _):
            with pytest.raises(StoreUnavailableError, match="certificate"):
                await store.ping()


async def _listen(store: RedisStore, queue: str, heard: list[str]) -> None:
    """Longer than the test may last: who waits at a server that is gone must be told."""
    hint = await PATIENT.call(store.listen, "w", [queue], 3600.0)
    heard.append(hint.kind if hint else "")


async def _wait(store: RedisStore, heard: list[str]) -> None:
    notices = store.settled(["t"])
    assert await anext(notices) == ""
    try:
        heard.append(await anext(notices))
    except StoreUnavailableError:
        heard.append("the subscription has ended")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
async def test_the_replica_is_found_when_the_master_is_gone_and_nobody_waits_at_the_old_one(
    how: signal.Signals, short_path: Path
) -> None:
    with sentinels(short_path) as made:
        async with opened(made.url) as (store, queue):
            heard: list[str] = []
            await store.register(introduction("w"))
            delivery = await claim(store, queue, "w", "t")
            await store.listen("w", [queue], 1.0)  # the bell of this task
            with anyio.fail_after(60.0):
                async with anyio.create_task_group() as group:
                    group.start_soon(_listen, store, queue, heard)
                    group.start_soon(_wait, store, heard)
                    await anyio.to_thread.run_sync(until, lambda: _both_wait(made, queue))
                    assert made.master.ask("WAIT", 1, 10_000) == 1
                    made.master.signal(how)
                    assert await PATIENT.call(settle, store, queue, "w", delivery) == "OK"
                    await PATIENT.call(store.wake, "w")
            assert sorted(heard) == ["the subscription has ended", "wake"]
            assert made.replica.ask("ROLE")[0] == "master"
            task = await PATIENT.call(store.get, "t")
            assert task is not None
            assert task.state is State.COMPLETED


def _both_wait(made: Sentinels, queue: str) -> bool:
    subscribers = made.master.ask("PUBSUB", "NUMSUB", f"{{{queue}}}:done:t")[1]
    return subscribers == 1 and "cmd=blpop" in made.master.ask("CLIENT", "LIST")
