"""Workers of an earlier parent, told by their lock files."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NoReturn

import pytest

from holdfast.errors import StoreUnavailableError
from holdfast.ipc.channel import Born, Died
from holdfast.os import processes
from holdfast.os.locks import hold, is_free, mark_process, outlived
from holdfastd.parent.child_setup import set_title
from holdfastd.steward.duties.orphans import SEEN_DEAD
from tests.faults.kin import wait_dead
from tests.steward.surroundings import AWAY, A, B, DutySurroundings

pytestmark = pytest.mark.anyio

LONGEST = 60  # seconds; a test that fails leaves nobody behind


@pytest.fixture
def surroundings(tmp_path: Path) -> DutySurroundings:
    return DutySurroundings(tmp_path)


async def test_free_lock_files_from_before_the_first_worker_are_recovered_at_once(
    surroundings: DutySurroundings,
) -> None:
    path = surroundings.lock_file(A)
    await surroundings.orphans(A).run_once()
    assert surroundings.called("recover") == [(A, "orphaned", False)]
    assert surroundings.counted == [(1, "orphaned")]
    assert not path.exists()


async def test_a_stranger_is_judged_at_its_second_sighting_only(surroundings: DutySurroundings) -> None:
    orphans = surroundings.orphans()
    surroundings.lock_file(A)
    await orphans.run_once()
    assert surroundings.called("recover") == []
    await orphans.run_once()
    assert surroundings.called("recover") == [(A, "orphaned", False)]


async def test_a_worker_whose_birth_is_told_between_two_sightings_is_none(surroundings: DutySurroundings) -> None:
    orphans = surroundings.orphans()
    surroundings.lock_file(A)
    await orphans.run_once()
    surroundings.roster.worker_started(Born(A))
    await orphans.run_once()
    await orphans.run_once()
    assert surroundings.store.calls == []


async def test_a_death_that_waits_for_its_record_is_left_to_recovery(surroundings: DutySurroundings) -> None:
    surroundings.lock_file(A)
    surroundings.roster.worker_died(Died(A, "signal 9", charged=True))
    await surroundings.orphans(A).run_once()
    assert surroundings.store.calls == []


async def test_an_orphan_that_still_lives_is_left_alone_until_it_is_gone(surroundings: DutySurroundings) -> None:
    path = surroundings.lock_file(A)
    descriptor = hold(path)
    assert descriptor is not None
    assert not outlived(path)
    orphans = surroundings.orphans(A)
    await orphans.run_once()
    assert surroundings.store.calls == []
    assert path.exists()
    os.close(descriptor)
    await orphans.run_once()
    assert surroundings.called("recover") == [(A, "orphaned", False)]


async def test_an_orphan_that_still_lives_is_not_killed(surroundings: DutySurroundings) -> None:
    path = surroundings.lock_file(A)
    ours, theirs = os.pipe()
    worker = os.fork()
    if worker == 0:
        _live(path, theirs)
    assert os.read(ours, 1)
    await surroundings.orphans(A).run_once()
    assert surroundings.store.calls == []
    os.kill(worker, signal.SIGTERM)
    assert _signal_that_ended(worker) == signal.SIGTERM


async def test_an_orphan_keeps_its_file_while_the_store_is_away(surroundings: DutySurroundings) -> None:
    path = surroundings.lock_file(A)
    surroundings.store.answers["recover"] = [AWAY]
    orphans = surroundings.orphans(A)
    with pytest.raises(StoreUnavailableError):
        await orphans.run_once()
    assert path.exists()
    await orphans.run_once()
    assert not path.exists()


async def test_files_that_are_named_after_no_incarnation_are_left_alone(surroundings: DutySurroundings) -> None:
    (surroundings.folder / "supervisor.lock").touch()
    (surroundings.folder / f"{A}.txt").touch()
    orphans = surroundings.orphans("supervisor", A)
    await orphans.run_once()
    await orphans.run_once()
    assert surroundings.store.calls == []


async def test_without_a_folder_there_are_no_orphans(surroundings: DutySurroundings) -> None:
    surroundings.folder /= "missing"
    await surroundings.orphans().run_once()
    assert surroundings.store.calls == []


async def test_a_child_that_holds_the_lock_of_a_dead_worker_is_killed_first(surroundings: DutySurroundings) -> None:
    path = surroundings.lock_file(A)
    ours, theirs = os.pipe()
    _die(path, theirs, f"holdfast: worker 0 {A}")
    child = int(os.read(ours, 16))
    assert not is_free(path)
    await surroundings.orphans(A).run_once()
    wait_dead(child)
    assert surroundings.called("recover") == [(A, "orphaned", False)]
    assert not path.exists()


async def test_each_process_of_the_host_is_looked_at_once_for_all_dead_workers(
    surroundings: DutySurroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[list[int]] = []

    def look() -> list[int]:
        looks.append(every_process())
        return looks[-1]

    every_process = processes.everybody
    monkeypatch.setattr(processes, "everybody", look)
    dead = [f"{number:032x}" for number in range(8)]
    for incarnation in dead:
        surroundings.lock_file(incarnation)
    await surroundings.orphans(*dead).run_once()
    assert [called[0] for called in surroundings.called("recover")] == dead
    assert len(looks) == 1


async def test_children_of_several_dead_workers_are_killed_before_any_task_goes_back(
    surroundings: DutySurroundings,
) -> None:
    children: list[int] = []
    for incarnation in (A, B):
        ours, theirs = os.pipe()
        _die(surroundings.lock_file(incarnation), theirs, f"holdfast: worker 0 {incarnation}")
        children.append(int(os.read(ours, 16)))
    surroundings.store.answers["recover"] = [AWAY]
    with pytest.raises(StoreUnavailableError):
        await surroundings.orphans(A, B).run_once()
    for child in children:
        wait_dead(child)


async def test_nothing_is_recovered_while_a_child_that_bears_no_name_holds_the_lock(
    surroundings: DutySurroundings,
) -> None:
    path = surroundings.lock_file(A)
    ours, theirs = os.pipe()
    _die(path, theirs, "of its own making")
    child = int(os.read(ours, 16))
    orphans = surroundings.orphans(A)
    await orphans.run_once()
    assert surroundings.called("recover") == []
    os.kill(child, signal.SIGKILL)
    wait_dead(child)
    await orphans.run_once()
    assert surroundings.called("recover") == [(A, "orphaned", False)]


async def test_a_death_that_its_parent_does_not_report_is_recovered_when_it_was_seen_several_times(
    surroundings: DutySurroundings,
) -> None:
    path = _dead_worker(surroundings)
    orphans = surroundings.orphans()
    for _ in range(SEEN_DEAD - 1):
        await orphans.run_once()
    assert surroundings.store.calls == []
    await orphans.run_once()
    assert surroundings.called("recover") == [(A, "orphaned", False)]
    assert surroundings.roster.living == ()
    assert not path.exists()


async def test_a_death_that_its_parent_reports_meanwhile_is_left_to_recovery(surroundings: DutySurroundings) -> None:
    _dead_worker(surroundings)
    orphans = surroundings.orphans()
    for _ in range(SEEN_DEAD - 1):
        await orphans.run_once()
    surroundings.roster.worker_died(Died(A, "signal 9", charged=True))
    for _ in range(SEEN_DEAD):
        await orphans.run_once()
    assert surroundings.store.calls == []


async def test_a_death_that_cannot_be_recovered_keeps_its_lease_and_is_tried_again(
    surroundings: DutySurroundings,
) -> None:
    _dead_worker(surroundings)
    surroundings.store.answers["recover"] = [AWAY]
    orphans = surroundings.orphans()
    for _ in range(SEEN_DEAD - 1):
        await orphans.run_once()
    with pytest.raises(StoreUnavailableError):
        await orphans.run_once()
    assert surroundings.roster.living == (A,)
    await orphans.run_once()
    assert surroundings.roster.living == ()


async def test_a_worker_of_this_parent_that_lives_is_left_alone(surroundings: DutySurroundings) -> None:
    path = surroundings.lock_file(A)
    surroundings.roster.worker_started(Born(A))
    orphans = surroundings.orphans()
    for _ in range(SEEN_DEAD + 1):  # it has not locked its file yet
        await orphans.run_once()
    ours, theirs = os.pipe()
    worker = os.fork()
    if worker == 0:
        _live(path, theirs)
    assert os.read(ours, 1)
    for _ in range(SEEN_DEAD + 1):
        await orphans.run_once()
    assert surroundings.store.calls == []
    assert surroundings.roster.living == (A,)
    os.kill(worker, signal.SIGTERM)
    assert _signal_that_ended(worker) == signal.SIGTERM


async def test_what_was_killed_is_waited_for(surroundings: DutySurroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends some processes late: this one is not killed at all."""
    monkeypatch.setattr("holdfastd.steward.duties.orphans.END_WITHIN", 0.0)
    surroundings.lock_file(A)
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        signal.pause()
        os._exit(1)
    orphans = surroundings.orphans(A)
    assert not await orphans._is_over(A, {child})
    os.kill(child, signal.SIGKILL)
    wait_dead(child)
    assert await orphans._is_over(A, {child})  # though nobody has reaped it
    assert _signal_that_ended(child) == signal.SIGKILL


def _dead_worker(surroundings: DutySurroundings) -> Path:
    """A worker of this parent that has locked its file and ended."""
    path = surroundings.lock_file(A)
    surroundings.roster.worker_started(Born(A))
    worker = os.fork()
    if worker == 0:
        descriptor = hold(path)
        assert descriptor is not None
        mark_process(descriptor)
        os._exit(0)
    os.waitpid(worker, 0)
    return path


def _die(path: Path, ready: int, title: str) -> None:
    worker = os.fork()
    if worker == 0:
        _leave_a_child(path, ready, title)
    os.waitpid(worker, 0)


def _leave_a_child(path: Path, ready: int, title: str) -> NoReturn:
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
    os.write(ready, str(child).encode())
    os._exit(0)


def _signal_that_ended(pid: int) -> int:
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def _live(path: Path, ready: int) -> NoReturn:
    """A worker that goes on without its parent."""
    descriptor = hold(path)
    assert descriptor is not None
    mark_process(descriptor)
    set_title(f"holdfast: worker 0 {A}")
    signal.alarm(LONGEST)
    os.write(ready, b"1")
    signal.pause()
    os._exit(1)
