"""Workers of an earlier parent, told by their lock files."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NoReturn

import pytest

from holdfast.errors import StoreUnavailableError
from holdfast.ipc.channel import Born, Died
from holdfast.os.locks import hold, is_free, mark_process, outlived
from holdfastd.parent.process_title import set_title
from tests.faults.kin import wait_dead
from tests.supervisor.stewards import AWAY, A, House

pytestmark = pytest.mark.anyio

LONGEST = 60  # seconds; a test that fails leaves nobody behind


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_free_lock_files_from_before_the_first_worker_are_recovered_at_once(house: House) -> None:
    path = house.lock_file(A)
    await house.orphans(A).run_once()
    assert house.called("recover") == [(A, "orphaned", False)]
    assert house.counted == [(1, "orphaned")]
    assert not path.exists()


async def test_a_stranger_is_judged_at_its_second_sighting_only(house: House) -> None:
    orphans = house.orphans()
    house.lock_file(A)
    await orphans.run_once()
    assert house.called("recover") == []
    await orphans.run_once()
    assert house.called("recover") == [(A, "orphaned", False)]


async def test_a_worker_whose_birth_is_told_between_two_sightings_is_none(house: House) -> None:
    orphans = house.orphans()
    house.lock_file(A)
    await orphans.run_once()
    house.roster.worker_started(Born(A))
    await orphans.run_once()
    await orphans.run_once()
    assert house.store.calls == []


async def test_a_death_that_waits_for_its_record_is_left_to_recovery(house: House) -> None:
    house.lock_file(A)
    house.roster.worker_died(Died(A, "signal 9", charged=True))
    await house.orphans(A).run_once()
    assert house.store.calls == []


async def test_an_orphan_that_still_lives_is_left_alone_until_it_is_gone(house: House) -> None:
    path = house.lock_file(A)
    descriptor = hold(path)
    assert descriptor is not None
    assert not outlived(path)  # nor would it be of an earlier version, which marks nothing
    orphans = house.orphans(A)
    await orphans.run_once()
    assert house.store.calls == []
    assert path.exists()
    os.close(descriptor)
    await orphans.run_once()
    assert house.called("recover") == [(A, "orphaned", False)]


async def test_an_orphan_that_still_lives_is_not_killed(house: House) -> None:
    path = house.lock_file(A)
    ours, theirs = os.pipe()
    worker = os.fork()
    if worker == 0:
        _live(path, theirs)
    assert os.read(ours, 1)
    await house.orphans(A).run_once()
    assert house.store.calls == []
    os.kill(worker, signal.SIGTERM)
    assert _signal_that_ended(worker) == signal.SIGTERM


async def test_an_orphan_keeps_its_file_while_the_store_is_away(house: House) -> None:
    path = house.lock_file(A)
    house.store.answers["recover"] = [AWAY]
    orphans = house.orphans(A)
    with pytest.raises(StoreUnavailableError):
        await orphans.run_once()
    assert path.exists()
    await orphans.run_once()
    assert not path.exists()


async def test_files_that_are_named_after_no_incarnation_are_left_alone(house: House) -> None:
    (house.folder / "supervisor.lock").touch()
    (house.folder / f"{A}.txt").touch()
    orphans = house.orphans("supervisor", A)
    await orphans.run_once()
    await orphans.run_once()
    assert house.store.calls == []


async def test_without_a_folder_there_are_no_orphans(house: House) -> None:
    house.folder /= "missing"
    await house.orphans().run_once()
    assert house.store.calls == []


async def test_a_child_that_holds_the_lock_of_a_dead_worker_is_killed_first(house: House) -> None:
    path = house.lock_file(A)
    ours, theirs = os.pipe()
    _die(path, theirs, f"holdfast: worker 0 {A}")
    child = int(os.read(ours, 16))
    assert not is_free(path)
    await house.orphans(A).run_once()
    wait_dead(child)
    assert house.called("recover") == [(A, "orphaned", False)]
    assert not path.exists()


async def test_nothing_is_recovered_while_a_child_that_bears_no_name_holds_the_lock(house: House) -> None:
    path = house.lock_file(A)
    ours, theirs = os.pipe()
    _die(path, theirs, "of its own making")
    child = int(os.read(ours, 16))
    orphans = house.orphans(A)
    await orphans.run_once()
    assert house.called("recover") == []
    os.kill(child, signal.SIGKILL)
    wait_dead(child)
    await orphans.run_once()
    assert house.called("recover") == [(A, "orphaned", False)]


def _die(path: Path, told: int, title: str) -> None:
    worker = os.fork()
    if worker == 0:
        _leave_a_child(path, told, title)
    os.waitpid(worker, 0)


def _leave_a_child(path: Path, told: int, title: str) -> NoReturn:
    """A worker that has forked and ended; its child bears its title."""
    descriptor = hold(path)
    assert descriptor is not None
    mark_process(descriptor)
    set_title(title)
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        signal.pause()
        os._exit(1)
    os.write(told, str(child).encode())
    os._exit(0)


def _signal_that_ended(pid: int) -> int:
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def _live(path: Path, told: int) -> NoReturn:
    """A worker that goes on without its parent."""
    descriptor = hold(path)
    assert descriptor is not None
    mark_process(descriptor)
    set_title(f"holdfast: worker 0 {A}")
    signal.alarm(LONGEST)
    os.write(told, b"1")
    signal.pause()
    os._exit(1)
